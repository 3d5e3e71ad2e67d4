"""Hooks on saved tensors see the mask that indexed, once, and the gradient is made with what they give back."""
import pytest

import torchshim as torch


def indexed(pick, pack):
    x = (torch.arange(9, dtype=torch.float64).reshape(3, 3) - 4).requires_grad_()
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((list(t.shape), str(t.dtype))) or pack(t), lambda t: t):
        y = pick(x * 1)
    y.sum().backward()
    return seen, x.grad.tolist()


ROW = torch.tensor([True, False, True])


@pytest.mark.parametrize("pick, seen, grad", [
    (lambda x: x[x > 0], [([3, 3], "torch.bool")], [[1, 1, 1], [0, 0, 1], [0, 0, 0]]),
    (lambda x: x[ROW], [([3], "torch.bool")], [[1, 1, 1], [0, 0, 0], [1, 1, 1]]),
    (lambda x: x[:, ROW], [([3], "torch.bool")], [[1, 0, 1], [1, 0, 1], [1, 0, 1]]),
    (lambda x: x[torch.tensor([0, 1]), ROW], [([2], "torch.int64"), ([3], "torch.bool")], [[0, 0, 1], [1, 0, 0], [0, 0, 0]]),
    (lambda x: x[(x > 0).byte()], [([3, 3], "torch.uint8")], [[1, 1, 1], [0, 0, 1], [0, 0, 0]]),
    (lambda x: x.index_put((x > 0,), torch.ones(())), [([3, 3], "torch.bool")], [[0, 0, 0], [1, 1, 0], [1, 1, 1]])])
def test_hooks_see_masks_as_they_are(pick, seen, grad):
    torch.set_default_dtype(torch.float64)
    try:
        assert indexed(pick, lambda t: t.flip(0)) == (seen, grad)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("pick, pack, error, said", [
    (lambda x: x[x > 0], lambda t: t * 1, RuntimeError, r"value tensor of shape \[4\] cannot be broadcast to indexing result of shape \[3, 3, 3\]"),
    (lambda x: x[x > 0], lambda t: t.double(), IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[ROW, ROW], lambda t: t.double(), IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda x: x[torch.tensor([0, 2])], lambda t: t.sum(), RuntimeError, r"of shape \[2, 3\] cannot be broadcast to indexing result of shape \[3\]")])
def test_what_hooks_make_of_indices_is_what_the_gradient_indexes_with(pick, pack, error, said):
    with pytest.raises(error, match=said):
        indexed(pick, pack)


def test_gradients_of_masked_elements_have_a_history_under_hooks():
    x = torch.tensor([1., -2., 3.], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1 if t.is_floating_point() else t, lambda t: t):
        y = (x * x)[x > 0]
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    assert g.tolist() == [2, 0, 6] and x.grad.tolist() == [2, 0, 2]


def test_a_view_between_a_mask_and_what_it_indexes():
    x = torch.arange(12.).reshape(3, 4).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        y = x.t()[torch.ones(4) > 0, :, None][..., 0]
    (y * torch.arange(12.).reshape(4, 3)).sum().backward()
    assert torch.equal(x.grad, torch.arange(12.).reshape(4, 3).t())
