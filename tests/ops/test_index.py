"""Protects gather, scatter and their relatives: values, gradients at torch's conventions, errors.

Expectations are PyTorch 2.13's, written down.
"""

import pytest

import torchshim as torch


def test_scatter_and_its_gradient_with_repeated_places():
    x = torch.zeros(2, 3, requires_grad=True)
    src = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    index = torch.tensor([[0, 1, 0], [0, 1, 1]])
    y = x.scatter(0, index, src)
    assert y.tolist() == [[4, 0, 3], [0, 5, 6]]
    y.backward(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    assert x.grad.tolist() == [[0, 2, 0], [4, 0, 0]]
    assert src.grad.tolist() == [[1, 5, 3], [1, 5, 6]]


def test_scatter_reduce_shares_the_gradient_among_ties():
    x = torch.tensor([3.0, 1.0], requires_grad=True)
    src = torch.tensor([3.0, 2.0, 3.0], requires_grad=True)
    y = x.scatter_reduce(0, torch.tensor([0, 1, 0]), src, "amax")
    y.backward(torch.tensor([6.0, 5.0]))
    assert y.tolist() == [3, 2]
    assert x.grad.tolist() == [2, 0] and src.grad.tolist() == [2, 5, 2]
    z = torch.tensor([2.0, 5.0]).scatter_reduce(0, torch.tensor([0, 0]), torch.tensor([4.0, 6.0]), "mean", include_self=False)
    assert z.tolist() == [5, 5]


def test_rows():
    x = torch.arange(6.0).reshape(3, 2)
    assert x.index_select(0, torch.tensor([2, 0])).tolist() == [[4, 5], [0, 1]]
    assert x.index_add(0, torch.tensor([0, 0]), torch.ones(2, 2), alpha=3).tolist() == [[6, 7], [2, 3], [4, 5]]
    assert x.index_fill(1, torch.tensor([-1]), 9).tolist() == [[0, 9], [2, 9], [4, 9]]
    assert x.index_copy(0, torch.tensor([1]), torch.zeros(1, 2)).tolist() == [[0, 1], [0, 0], [4, 5]]
    assert x.take(torch.tensor([5, -6])).tolist() == [5, 0]
    assert x.clone().put_(torch.tensor([1, 1]), torch.ones(2), accumulate=True).tolist() == [[0, 3], [2, 3], [4, 5]]


def test_masks():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.masked_fill(x > 3, -1).tolist() == [[0, 1, 2], [3, -1, -1]]
    assert x.masked_select(x > 3).tolist() == [4, 5]
    assert x.masked_scatter(x > 3, torch.tensor([8.0, 9.0, 10.0])).tolist() == [[0, 1, 2], [3, 8, 9]]
    n = torch.nonzero(x > 3)
    assert n.tolist() == [[1, 1], [1, 2]] and n.stride() == (1, 2)


ERRORS = [
    ("torch.gather(x, 0, torch.full((1, 1), 5))", RuntimeError, "index 5 is out of bounds for dimension 0 with size 2"),
    ("torch.gather(x, 0, torch.zeros(1, 4, dtype=torch.long))", RuntimeError, "Size does not match at dimension 1 expected index [1, 4] to "
     "be no larger than self [2, 3] apart from dimension 0"),
    ("x.index_select(0, torch.tensor([-1]))", IndexError, "index out of range in self"),
    ("x.index_copy(0, torch.tensor([5]), x[:1])", IndexError, "index_copy_(): index 5 is out of bounds for dimension 0 with size 2"),
    ("x.scatter(0, torch.zeros(1, 1, dtype=torch.long), x.double())", RuntimeError, "scatter(): Expected self.dtype to be equal to "
     "src.dtype"),
    ("x.take(torch.tensor([50]))", IndexError, "out of range: tried to access index 50 on a tensor of 6 elements."),
    ("x.masked_fill(x, 1)", RuntimeError, "masked_fill_ only supports boolean masks, but got mask with dtype float"),
    ("x.masked_scatter(x > 3, torch.ones(1))", RuntimeError, "Number of elements of source < number of ones in mask"),
]


@pytest.mark.parametrize("text, kind, message", ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(text, kind, message):
    with pytest.raises(kind) as e:
        eval(text, {"x": torch.arange(6.0).reshape(2, 3), "torch": torch}).tolist()
    assert str(e.value) == message


def test_scatter_of_an_empty_index_asks_for_no_shape():
    nothing = torch.zeros(0, dtype=torch.int64)
    for source in (torch.ones(3), torch.ones(3, 3), torch.ones(())):
        assert torch.equal(torch.zeros(3, 3).scatter(0, nothing, source), torch.zeros(3, 3))
        assert torch.equal(torch.zeros(3, 3).scatter_reduce(0, nothing, source, "amax"), torch.zeros(3, 3))
    source = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Function ScatterBackward0 returned an invalid gradient at index 1 - got .0. but expected shape "
                                           "compatible with .3."):
        torch.zeros(3, 3).scatter(0, nothing, source).sum().backward()


@pytest.mark.parametrize("shape, index, source, error, words", [
    ((2, 1), (2, 1), (4,), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)"),
    ((2, 3), (3, 4), (3,), RuntimeError, "Index tensor must have the same number of dimensions as src tensor"),
    ((2, 3), (2, 3), (1,), RuntimeError, "Index tensor must have the same number of dimensions as src tensor"),
    ((3,), (3,), (), RuntimeError, "Expected index [3] to be no larger than self [3] apart from dimension 0 and to be no larger size than "
                                   "src []")])
def test_scatter_looks_at_the_sizes_of_its_source_first(shape, index, source, error, words):
    with pytest.raises(error) as e:
        torch.zeros(shape).scatter(0, torch.zeros(index, dtype=torch.int64), torch.ones(source))
    assert str(e.value) == words


@pytest.mark.parametrize("shape, index, source", [((), 1, (1,)), ((), 2, (2,)), ((), 0, (0,)), ((3,), 1, ())])
def test_index_add_of_a_number_takes_a_number(shape, index, source):
    at = torch.zeros(index, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape, excluding the specified dimension."):
        torch.zeros(shape).index_add(0, at, torch.ones(source))
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        torch.zeros(()).index_add_(0, torch.zeros(2, dtype=torch.int64), torch.ones(()))


def test_masked_scatter_in_place_expands_its_mask():
    with pytest.raises(RuntimeError, match="The expanded size of the tensor .3. must match the existing size .2."):
        torch.zeros(3).masked_scatter_(torch.ones(2) > 0, torch.ones(9))
    with pytest.raises(RuntimeError, match="expand.CPUBoolType.*the number of sizes provided"):
        torch.zeros(3).masked_scatter_(torch.ones(2, 3) > 0, torch.ones(9))


def test_a_mask_without_dimensions_fills():
    """index_put of one value where a 0-d mask is true, as masked_fill; elsewhere such a mask stands for a new dimension."""
    yes, no = torch.tensor(True), torch.tensor(False)
    for shape in ((3,), (2, 2), (0,)):
        x = torch.zeros(shape)
        assert (x.index_put((yes,), torch.tensor(2)) == 2).all() and (x.index_put((no,), torch.tensor([2.0])) == 0).all()
        assert (x.index_put_((yes,), torch.tensor(2.0)) == 2).all() and x._version == 1
    x, v = torch.zeros(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    y = x.index_put((yes,), v)
    assert y.grad_fn.name() == "IndexPutBackward0"
    assert [g.tolist() for g in torch.autograd.grad(y.sum(), (x, v))] == [[0, 0, 0], 3]
