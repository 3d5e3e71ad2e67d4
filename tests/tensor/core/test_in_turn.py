"""Protects elementwise writes that read, through another tensor, what they have written before: in torch's order, one element after the
other. Expected values are torch 2.13's."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("write, expected", [
    ("v += v.diagonal()", [2, 7, 12, 6, 10, 15, 9, 18, 18]), ("v *= v[:, :1]", [1, 2, 3, 16, 80, 96, 49, 392, 441]),
    ("v.add_(v.t()[0], alpha=2)", [3, 10, 17, 10, 25, 20, 13, 28, 35]), ("v.t().add_(v[:, 0])", [2, 4, 5, 8, 13, 14, 14, 22, 23]),
    ("v[:, 1:] += v[:, :-1]", [1, 3, 6, 4, 9, 15, 7, 15, 24]), ("v[:, :-1] += v[:, 1:]", [3, 5, 3, 9, 11, 6, 15, 17, 9]),
    ("v[:, 1:].copy_(v[:, :-1])", [1, 1, 1, 4, 4, 4, 7, 7, 7]), ("v[::2].add_(v[0])", [2, 4, 6, 4, 5, 6, 9, 12, 15]),
    ("torch._foreach_mul_([v], [v[:, :1]])", [1, 2, 3, 16, 80, 96, 49, 392, 441])])
def test_what_is_written_is_read_by_what_comes_after_it(write, expected):
    v = (torch.arange(9.) + 1).view(3, 3)
    exec(write)
    assert v.flatten().tolist() == expected


def test_its_history_is_that_of_the_operator():
    x = (torch.arange(9.) + 1).view(3, 3).requires_grad_()
    v = x * 1
    v += v[:, :1]
    assert v.grad_fn.name() == "AddBackward0" and v.tolist()[0] == [2, 4, 5]
    v.sum().backward()
    assert x.grad.tolist() == [[4, 1, 1]] * 3


def test_several_elements_that_torch_reads_at_once_are_what_they_were():
    """So many in a row that vectors decide what is read: where these begin, it is what was there before."""
    v = torch.ones(4, 64)
    v[:, 1:] += v[:, :-1]
    assert v[:, :2].tolist() == [[1, 2]] * 4


@pytest.mark.parametrize("write, expected", [
    ("v **= 2", [0, 1, 4, 81, 256, 625, 36, 49, 64]), ("v *= v", [0, 1, 4, 81, 256, 625, 36, 49, 64]),
    ("v.add_(1)", [1, 2, 3, 5, 6, 7, 7, 8, 9]), ("v.add_(v[0])", [0, 2, 4, 6, 10, 14, 12, 17, 22]),
    ("v[1] += 10", [0, 1, 2, 13, 14, 15, 16, 17, 18]), ("v.copy_(w)", [0, 2, 4, 6, 8, 10, 7, 9, 11]),
    ("torch._foreach_add_([v], 1)", [1, 2, 3, 5, 6, 7, 7, 8, 9]), ("v.masked_fill_(w == 6, -1)", [0, 1, 2, -1, 4, 5, 6, 7, 8]),
    ("v[w == 1] = -1", [0, 1, 2, -1, 4, 5, 6, 7, 8]), ("v.sub_(w[0])", [0, -1, -2, 2, -1, -4, 5, 4, 3]),
    ("v[torch.tensor([1, 0])] = w", [6, 8, 10, 7, 9, 11, 1, 3, 5]), ("v.zero_()", [0] * 9)])
def test_elements_that_lie_in_one_place_are_written_one_after_the_other(write, expected):
    x = torch.arange(9.).view(3, 3)
    v, w = x.unfold(0, 2, 1), torch.arange(12.).view(2, 3, 2)
    exec(write)
    assert x.flatten().tolist() == expected and v.tolist() == x.unfold(0, 2, 1).tolist()


def test_random_numbers_and_gradients_stay_where_they_come_last():
    torch.manual_seed(0)
    x = torch.zeros(6)
    x.unfold(0, 3, 1).uniform_()
    assert [round(k, 4) for k in x.tolist()] == [0.4963, 0.1320, 0.4901, 0.6323, 0.3489, 0.4017]
    a = (torch.arange(6.) + 1).requires_grad_()
    z = a * 1
    v = z.unfold(0, 2, 1)
    v *= torch.arange(10.).view(5, 2)
    assert z.tolist() == [0, 4, 36, 120, 280, 54]
    z.sum().backward()
    assert a.grad.tolist() == [0, 2, 4, 6, 8, 9]


@pytest.mark.parametrize("write", ["v.index_add_(0, torch.tensor([0, 1]), v + 0)", "v.cumsum_(0)", "torch.add(v, 1, out=v)",
                                   "torch.vmap(lambda y: y.unfold(0, 2, 1).mul_(2))(x)"])
def test_what_does_not_write_them_so_is_refused(write):
    x = torch.arange(9.).view(3, 3)
    v = x.unfold(0, 2, 1)
    with pytest.raises(NotImplementedError):
        exec(write)
    assert x.flatten().tolist() == list(range(9))


@pytest.mark.parametrize("see, dim, rows, memory", [
    (lambda x: x.expand(2, 2, 3), 1, [0], [9, 9, 9, 3, 4, 5]), (lambda x: x[:1].expand(3, 3), 0, [1], [9, 9, 9, 3, 4, 5]),
    (lambda x: x[:1].expand(3, 3), -1, [0, 1], [9, 9, 2, 3, 4, 5]), (lambda x: x.as_strided((3, 3), (1, 1)), 0, [1], [0, 9, 9, 9, 4, 5]),
    (lambda x: x.expand(2, 2, 3), 0, [], [0, 1, 2, 3, 4, 5])])
@pytest.mark.filterwarnings("ignore:Use of index_fill_ on expanded tensors")
def test_rows_are_filled_wherever_their_elements_are_seen(see, dim, rows, memory):
    for value in (9.0, torch.tensor(9.0)):
        x = torch.arange(6.0).reshape(2, 3)
        see(x).index_fill_(dim, torch.tensor(rows, dtype=torch.int64), value)
        assert x.flatten().tolist() == memory and x._version == 1


@pytest.mark.filterwarnings("ignore:Use of index_fill_ on expanded tensors")
def test_the_gradient_of_rows_that_were_filled():
    a, v = torch.ones(2, 3, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    x = a * 1
    x.as_strided((2, 3), (1, 1)).index_fill_(0, torch.tensor([0]), 2.0)
    assert torch.autograd.grad(x.sum(), a)[0].tolist() == [[0, 0, 0], [1, 1, 1]]
    x = torch.ones(3).expand(2, 3)
    x.index_fill_(0, torch.tensor([0]), v)
    assert torch.autograd.grad(x.sum(), v)[0].item() == 6
