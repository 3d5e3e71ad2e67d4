"""Reductions of segments. Expectations are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch

inf, nan = math.inf, math.nan


@pytest.mark.parametrize("reduce, empty, last, grads", [
    ("sum", 0, [18, 21, 24], [[1, 1, 1]] * 4), ("mean", nan, [6, 7, 8], [[1, 1, 1]] + [[1 / 3] * 3] * 3),
    ("max", -inf, [9, 10, 11], [[1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1]]),
    ("min", inf, [3, 4, 5], [[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]),
    ("prod", 1, [162, 280, 440], [[1, 1, 1], [54, 70, 88], [27, 40, 55], [18, 28, 40]])])
def test_each_reduction(reduce, empty, last, grads):
    x = torch.arange(12.).view(4, 3).requires_grad_()
    y = torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 0, 3]))
    torch.testing.assert_close(y.detach(), torch.tensor([[0., 1, 2], [empty] * 3, last]), equal_nan=True)
    assert type(y.grad_fn).__name__ == "SegmentReduceBackward0"
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.tensor(grads).float())


def test_where_segments_begin_with_something():
    x = torch.arange(12.).view(4, 3)
    given = dict(lengths=torch.tensor([1, 0, 3]), initial=5.)
    assert torch.segment_reduce(x, "sum", **given).tolist() == [[5, 6, 7], [5, 5, 5], [23, 26, 29]]
    torch.testing.assert_close(torch.segment_reduce(x, "mean", **given), torch.tensor([[5, 6, 7], [5, 5, 5], [23 / 3, 26 / 3, 29 / 3]]))
    assert torch.segment_reduce(x, "max", lengths=torch.tensor([1, 0, 2]), initial=5., unsafe=True).tolist() == [[5] * 3, [5]
        * 3, [6, 7, 8]]


@pytest.mark.parametrize("reduce, grads", [("sum", [1, 1, 1, 1]), ("mean", [1, 1 / 3, 1 / 3, 1 / 3]), ("max", [0, 0, 0, 1]), ("prod", [5, 270, 135, 90])])
def test_gradients_of_what_begins_with_something(reduce, grads):
    """Those of extremes and products read where the segments begin."""
    x = torch.tensor([1., 3, 6, 9], requires_grad=True)
    y = torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 0, 3]), initial=5.)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.tensor(grads).float())


def test_offsets_and_batches():
    x = torch.arange(12.).view(4, 3)
    assert torch.segment_reduce(x, "sum", offsets=torch.tensor([1, 1, 3])).tolist() == [[0, 0, 0], [9, 11, 13]]
    lengths = torch.tensor([[1, 2], [0, 3], [1, 2], [3, 0]])
    assert torch.segment_reduce(x, "sum", lengths=lengths, axis=1).tolist() == [[0, 3], [0, 12], [6, 15], [30, 0]]


@pytest.mark.parametrize("reduce, grad", [("max", [.5, .5, 0, 0, 1]), ("min", [.5, .5, .5, .5, 0]), ("prod", [2, 2, 0, 0, 0])])
def test_gradients_at_ties_and_zeros(reduce, grad):
    y = torch.tensor([2., 2, 0, 0, 3], requires_grad=True)
    assert torch.autograd.grad(torch.segment_reduce(y, reduce, lengths=torch.tensor([2, 3])).sum(), y)[0].tolist() == grad


@pytest.mark.parametrize("kwargs, text", [
    ({}, "segment_reduce(): Either lengths or offsets must be defined."),
    (dict(lengths=torch.tensor([1, 2])), "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                                         "when !unsafe."),
    (dict(lengths=torch.tensor([1, -2])), "lengths contains negative value!"),
    (dict(lengths=torch.tensor([1, 3]), axis=1), "segment_reduce(): Expected axis to be the last dimension of lengths but got 1.")])
def test_what_does_not_fit(kwargs, text):
    with pytest.raises(RuntimeError) as caught:
        torch.segment_reduce(torch.zeros(4, 3), "sum", **kwargs)
    assert str(caught.value) == text


def test_rare_names_of_torch():
    """They are found, and check what they are for."""
    torch.sym_constrain_range(3, min=1, max=5)
    with pytest.raises(RuntimeError, match=r"^Invalid value range for 7 between \[1, 5\]\.$"):
        torch.sym_constrain_range(7, min=1, max=5)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError):
        torch._check_is_size(3, max=2)
    x = torch.zeros(2, requires_grad=True)
    assert x.grad_dtype is torch.float32 and torch.norm_except_dim(torch.ones(3, 4)).shape == (3, 1)
    with pytest.raises(RuntimeError, match="only be accessed on leaf"):
        (x * 2).grad_dtype


def test_the_private_name():
    # torch_geometric's reductions ask for it
    assert torch._segment_reduce is torch.segment_reduce
    x = torch.arange(12.).view(6, 2)
    y = torch._segment_reduce(x, "max", offsets=torch.tensor([0, 2, 2, 6]), axis=0, unsafe=True, initial=0)
    assert y.tolist() == [[2, 3], [0, 0], [10, 11]]
