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
