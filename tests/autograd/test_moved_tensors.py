"""Tensors whose history or memory changes under their views, aliases and graphs; all values are torch 2.13's."""
import pytest

import torchshim as torch


def test_a_view_made_before_its_base_required_grad_requires_it_and_leads_nowhere():
    w = torch.ones(4)
    v, deep = w[1], w.view(-1)[1]
    w.requires_grad_()
    for x in (v, deep):
        assert x.requires_grad and x.is_leaf and x.grad_fn is None
    y = v * 2 + w[2]
    assert (v * 2).grad_fn.next_functions[0] == (None, 0)
    y.backward()
    assert v.grad is None and w.grad.tolist() == [0, 0, 1, 0]
    assert torch.autograd.grad(v * 2, v, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        v.backward()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        v.add_(1)
    with torch.no_grad():
        w.add_(1)                              # after a write its history is its base's
    assert torch.autograd.grad(v, w)[0].tolist() == [0, 1, 0, 0]


def test_a_view_that_requires_grad_by_itself_is_a_leaf_until_its_base_gets_a_history():
    w, x = torch.ones(4), torch.ones(4, requires_grad=True)
    v = w[1]
    v.requires_grad_()
    (v * 2).backward()
    assert v._base is w and not w.requires_grad and v.grad.item() == 2
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        v.add_(1)
    w.mul_(x)
    assert type(v.grad_fn).__name__ == "AsStridedBackward0"
    assert torch.autograd.grad(v, x)[0].tolist() == [0, 1, 0, 0]


def test_versions_go_on_counting_together_when_a_tensor_gets_other_memory():
    p = torch.ones(3)
    v, d = p[:2], p.detach()
    p.set_(torch.zeros(3))
    assert (p._version, v._version, d._version) == (1, 1, 1)
    p.add_(1)
    v.add_(1)
    assert (p._version, v._version, d._version) == (3, 3, 3) and d.tolist() == [2, 2, 1] and p.tolist() == [1, 1, 1]
    a = torch.ones(3)
    b = a.detach()
    a.data = torch.zeros(3)
    assert (a._version, b._version) == (0, 0)
    b.add_(1)
    a.data = torch.ones(3)
    assert (a._version, b._version) == (1, 1)
    other = torch.zeros(3)
    a.data = other
    a.add_(1)
    assert (a._version, other._version, other.tolist()) == (2, 0, [1, 1, 1])


def test_set_is_a_step_without_derivative():
    x = torch.ones(3, requires_grad=True)
    z = x * 2
    square = z * z
    z.set_(torch.zeros(4))
    assert repr(z) == "tensor([0., 0., 0., 0.], grad_fn=<NotImplemented>)" and [f and f.name() for f, _ in z.grad_fn.next_functions] == [
        "MulBackward0", None]
    with pytest.raises(RuntimeError, match="derivative for set_ is not implemented"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        square.sum().backward()


def test_backward_reads_what_data_was_set_to_since():
    a, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    z = a * 2
    y = z * z
    z.data = torch.zeros(3)
    y.sum().backward()
    assert a.grad.tolist() == [0, 0, 0]
    p = torch.nn.Parameter(torch.ones(3))
    for k in range(3):                         # a forward with other weights
        x.grad, kept = None, p.data
        p.data = kept * 3
        y = (p * x).sum()
        p.data = kept
        y.backward()
        assert x.grad.tolist() == [1, 1, 1] and p.grad.tolist() == [k + 1] * 3
    for kind, expected in ((lambda p: p.detach(), [1, 1, 1]), (lambda p: p * 1, [1, 1, 1]), (lambda p: p, [0, 0, 0])):
        q, x.grad = torch.nn.Parameter(torch.ones(3)), None
        y = (kind(q) * x).sum()
        q.data = torch.zeros(3)
        y.backward()
        assert x.grad.tolist() == expected


def test_a_view_that_gets_other_memory_stays_a_view_of_its_base():
    x = torch.tensor([[0.0, 1, 2], [3, 4, 5]], requires_grad=True)
    v = x[0]
    v.data = torch.tensor([7.0, 8.0, 9.0])
    assert v._base is x and v._is_view() and v.tolist() == [7, 8, 9]
    with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used"):
        v.mul_(2)
    y = x * 1
    v = y[0]
    v.data = torch.tensor([7.0, 8.0, 9.0])
    v.mul_(2)
    assert v.tolist() == [14, 16, 18] and y.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (v.grad_fn.name(), y.grad_fn.name()) == ("AsStridedBackward0", "torch::autograd::CopySlices")
    v[1:].zero_()
    y.sum().backward()
    assert x.grad.tolist() == [[2, 0, 0], [1, 1, 1]]


def test_a_leaf_of_another_shape_gets_its_gradient_in_that_shape():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        x.unsqueeze_(0)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2]]


def test_what_was_saved_of_a_leaf_that_is_a_view_is_what_its_data_is_at_the_time():
    for make in (lambda x: x.var(0), lambda x: (x * x).sum(), lambda x: (x @ torch.ones(3)) ** 2):
        x = torch.arange(3.0).reshape(1, 3)[0].requires_grad_()
        whole = torch.arange(3.0).requires_grad_()
        for leaf in (x, whole):
            y = make(leaf)
            leaf.data = torch.full((3,), 2.0)
            y.backward()
        assert x.grad.tolist() == whole.grad.tolist()
    x = torch.arange(3.0).reshape(1, 3)[0].requires_grad_()
    y = (x * x).sum()
    x.data = torch.full((3,), 2.0)
    assert torch.autograd.grad(y, x)[0].tolist() == [4, 4, 4]


def test_a_window_on_the_memory_of_a_view_whose_base_was_turned():
    b = torch.arange(6.0).reshape(2, 3).requires_grad_() * 1
    v = b.view(-1)
    b.t_()
    assert v.as_strided((2,), (1,)).tolist() == [0, 1]
    c = torch.arange(6.0).reshape(2, 3).clone()
    v = c.view(-1)
    c.transpose_(0, -1)
    assert v.as_strided((2,), (1,)).tolist() == [0, 1]


def test_unsafe_pieces_share_their_memory_and_nothing_else():
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    a, _ = y.unsafe_chunk(2)
    y.mul_(2)
    assert a.tolist() == [0, 2] and a._version == 0 and a.grad_fn.name() == "UnsafeSplitBackward0" and a._base is None
    a.add_(1)
    assert y.tolist() == [1, 3, 4, 6] and y._version == 1
    a.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("see", [lambda b: b.expand(2, 2), lambda b: b[:], lambda b: b.t()])
def test_writes_to_the_base_count_for_what_was_saved_of_a_view_that_left_it(see):
    b = torch.ones(2, requires_grad=True) * 2
    v = see(b)
    v.data = v.detach() * 3
    y = torch.nn.functional.hardtanh(v)
    b.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of AsStrided, is at version 1; expected version 0"):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda v: v.mul_(2), lambda v: v.__setitem__(..., torch.full(v.shape, 3.0, requires_grad=True))])
def test_a_write_to_a_view_whose_base_got_other_memory_is_followed_where_it_fits(write):
    outside = (r"^setStorage: sizes \[2\], strides \[1\], storage offset 2, and itemsize 4 requiring a storage size of 16 are out of "
               "bounds for storage of size 8")
    for n, says in ((4, "derivative for set_"), (2, outside)):
        b = torch.ones(2, 2, requires_grad=True) * 2
        v = b[-1]
        b.set_(torch.zeros(n))
        write(v)
        assert v.grad_fn.name() == "AsStridedBackward0" and b.grad_fn.name() == "torch::autograd::CopySlices"
        with pytest.raises(RuntimeError, match=says):
            v.sum().backward()


def test_a_tensor_that_got_inference_memory_has_no_history_for_others():
    def moved():
        x = torch.ones(2, requires_grad=True).sin()
        with torch.inference_mode():
            other = torch.ones(2)
        x.data = other
        return x
    for f in (torch.sin, torch.sum, lambda x: x[0], lambda x: x.view(-1), lambda x: x.movedim(0, -1)):
        assert f(moved()).grad_fn is None and not f(moved()).requires_grad
    for f in (torch.clone, torch.Tensor.double):             # torch writes them into new tensors, which are followed
        node = f(moved()).grad_fn
        assert node.name() == "torch::autograd::CopyBackwards"
        assert [n and n.name() for n, _ in node.next_functions] == [None, "SinBackward0"]
