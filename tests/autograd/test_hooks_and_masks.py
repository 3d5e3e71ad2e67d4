"""Hooks on saved tensors see the mask that indexed, once, and the gradient is made with what they give back."""
import re

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


MASK, BOTH, INDEX = torch.tensor([True, False, True]), torch.tensor([[True, False, True], [False, True, True]]), torch.tensor([0, 2])
_of_masks = lambda f: lambda t: f(t) if t.dtype in (torch.bool, torch.int64) else t
FLIPPED, FILLED, PLACES = _of_masks(torch.logical_not), _of_masks(torch.ones_like), _of_masks(lambda t: t.nonzero()[:, 0])


def _hooked(f, unpack, values):
    """(the gradient of `f(x, v)`, its shapes of what was packed): its own and that of v, for cotangents 1, 2 …"""
    x, v, packed = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_(), torch.ones(values, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append((tuple(t.shape), t.dtype)) or t, unpack):
        y = f(x, v)
    got = torch.autograd.grad(y, (x, v), torch.arange(1.0, y.numel() + 1).reshape(y.shape), allow_unused=True, create_graph=True)
    return [None if g is None else g.flatten().tolist() for g in got], packed


def _written(x, at, v):
    y = x * 1
    y[at] = v
    return y


@pytest.mark.parametrize("f, unpack, values, expected", [
    (lambda x, v: x[0].masked_select(MASK), FLIPPED, (), [[0, 1, 0, 0, 0, 0], None]),
    (lambda x, v: x.masked_select(MASK), FLIPPED, (), [[0, 1, 0, 0, 2, 0], None]),
    (lambda x, v: x[:, MASK], PLACES, (), [[1, 0, 2, 3, 0, 4], None]),
    (lambda x, v: x[None, BOTH], _of_masks(lambda t: t.roll(1, 0)), (), [[0, 1, 2, 3, 0, 4], None]),
    (lambda x, v: _written(x, (slice(None), MASK), v), FLIPPED, (1,), [[1, 0, 3, 4, 0, 6], [7]]),
    (lambda x, v: _written(x, (slice(None), MASK), 3.0), PLACES, (), [[0, 2, 0, 0, 5, 0], None]),
    (lambda x, v: _written(x, BOTH, v), _of_masks(lambda t: t.roll(1, 0)), (4,), [[1, 0, 0, 0, 5, 0], [2, 3, 4, 6]]),
    (lambda x, v: _written(x, (0, MASK), v), _of_masks(lambda t: t.roll(1)), (2,), [[0, 0, 3, 4, 5, 6], [1, 2]]),
    (lambda x, v: x.masked_fill(MASK, v), FILLED, (), [[0] * 6, [21]]),
    (lambda x, v: x.masked_scatter(BOTH, v), FILLED, (2, 3), [[0] * 6, [1, 2, 3, 4, 5, 6]]),
    (lambda x, v: x.index_select(1, INDEX), lambda t: t[:1], (), None), (lambda x, v: x.gather(1, INDEX[None]), lambda t: t.int(), (), None),
    (lambda x, v: x.sort()[0], _of_masks(torch.zeros_like), (), [[3, 0, 0, 6, 0, 0], None]),
    (lambda x, v: x.cummax(1)[0], _of_masks(torch.zeros_like), (), [[6, 0, 0, 15, 0, 0], None]),
    (lambda x, v: torch.nn.functional.embedding(INDEX, v), lambda t: t[None], (3, 2), [None, [1, 2, 0, 0, 3, 4]])])
def test_the_places_that_hooks_give_back_decide(f, unpack, values, expected):
    if expected is None:
        with pytest.raises(RuntimeError):
            _hooked(f, unpack, values)
    else:
        assert _hooked(f, unpack, values)[0] == expected
        assert len(_hooked(f, unpack, values)[1]) == (2 if {"masked_select", "cummax"} & {*f.__code__.co_names} else 1)


@pytest.mark.parametrize("f, unpack, values, words", [
    (lambda x, v: _written(x, BOTH, v), FLIPPED, (4,), "shape mismatch: value tensor of shape [4] cannot be broadcast to indexing result of "
     "shape [2]"),
    (lambda x, v: x[:, MASK], FLIPPED, (), "shape mismatch: value tensor of shape [2, 2] cannot be broadcast to indexing result of shape [2, 1]"),
    (lambda x, v: x.take(INDEX), _of_masks(lambda t: t == 0), (), "put_(): Expected a long tensor for index, but got Bool"),
    (lambda x, v: x.index_fill(1, INDEX, 2.0), _of_masks(lambda t: t[None]), (), "Index has to be a vector/scalar"),
    (lambda x, v: x.max(1)[0], _of_masks(lambda t: t > 0), (), "scatter(): Expected dtype int32/int64 for index"),
    (lambda x, v: torch.where(MASK, x, v), _of_masks(lambda t: t.long()), (), "where expected condition to be a boolean tensor, but got a "
     "tensor with dtype Long"),
    (lambda x, v: _written(x, BOTH, 3.0), _of_masks(lambda t: t[None]), (), "The shape of the mask [1, 2, 3] at index 0 does not match the "
     "shape of the indexed tensor [2, 3] at index 0")])
def test_places_that_do_not_fit_are_refused_by_what_the_formula_does(f, unpack, values, words):
    with pytest.raises((RuntimeError, IndexError), match="^" + re.escape(words)):
        _hooked(f, unpack, values)
