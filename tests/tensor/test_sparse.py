"""Protects sparse tensors: how they are made and shown, that what is computed with them is what dense ones give, their gradients, and that
what knows no sparse tensors says so. The expectations are those of torch 2.13.
"""
import copy
import pickle

import pytest

import torchshim as torch
from torchshim import nn

INDEX, VALUES = torch.tensor([[0, 1, 1, 1], [2, 0, 2, 0]]), torch.tensor([3.0, 4.0, 5.0, 1.0])
DENSE = [[0.0, 0.0, 3.0], [5.0, 0.0, 5.0]]
LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]


def coo(**kwargs):
    return torch.sparse_coo_tensor(INDEX, VALUES, (2, 3), **kwargs)


def matrix(layout, requires_grad=False):
    m = torch.tensor([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0]], requires_grad=requires_grad)
    return m, m.to_sparse(layout=layout)


def test_coordinates():
    s = coo()
    assert repr(s) == ("tensor(indices=tensor([[0, 1, 1, 1],\n                       [2, 0, 2, 0]]),\n       values=tensor([3., 4., 5., "
                       "1.]),\n       size=(2, 3), nnz=4, layout=torch.sparse_coo)")
    assert s.shape == (2, 3) and s.is_sparse and s.layout is torch.sparse_coo and s._nnz() == 4 and not s.is_coalesced()
    assert isinstance(s, torch.Tensor) and s.type() == "torch.sparse.FloatTensor" and s.to_dense().tolist() == DENSE
    with pytest.raises(RuntimeError, match="^Cannot get indices on an uncoalesced tensor, please call .coalesce"):
        s.indices()
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [3.0, 5.0, 5.0] and c.coalesce() is c
    assert torch.sparse_coo_tensor([[1], [2]], [1.0]).shape == (2, 3) and torch.sparse_coo_tensor(size=(2, 3))._nnz() == 0
    with pytest.raises(RuntimeError, match="indices and values must have same nnz, but got nnz from indices: 4, nnz from values: 2"):
        torch.sparse_coo_tensor(INDEX, torch.ones(2), (2, 3))
    with pytest.raises(RuntimeError, match="for dim 1, size is 2 but found index 2"):
        torch.sparse_coo_tensor(INDEX, VALUES, (2, 2), check_invariants=True)


def test_compressed():
    _, c = matrix(torch.sparse_csr)
    assert repr(c) == ("tensor(crow_indices=tensor([0, 2, 2, 4]),\n       col_indices=tensor([1, 3, 0, 2]),\n"
                       "       values=tensor([2., 1., 3., 4.]), size=(3, 4), nnz=4,\n       layout=torch.sparse_csr)")
    assert torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense().tolist() == [[0.0, 3.0], [4.0, 0.0]]
    assert c.t().layout is torch.sparse_csc and torch.equal(c.t().row_indices(), c.col_indices())
    m = torch.arange(16.0).reshape(4, 4)
    for s in (m.to_sparse_bsr((2, 2)), m.to_sparse_bsc((2, 2)), m.to_sparse_csc()):
        assert torch.equal(s.to_dense(), m) and torch.equal(s @ m, m @ m)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products(layout):
    m, s = matrix(layout)
    d = torch.arange(8.0).reshape(4, 2)
    assert torch.equal(s @ d, m @ d) and torch.equal(torch.sparse.mm(s, d), m @ d) and torch.equal(torch.mv(s, d[:, 0]), m @ d[:, 0])
    assert torch.equal(d.t() @ s.t(), (m @ d).t()) and torch.equal(torch.addmm(torch.ones(3, 2), s, d, alpha=2), 1 + 2 * (m @ d))
    assert torch.equal((s @ s.t().to_sparse(layout=layout)).to_dense(), m @ m.t())
    assert torch.equal(nn.functional.linear(d.t(), s), d.t() @ m.t())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    m, s = matrix(layout, True)
    d = torch.arange(8.0).reshape(4, 2).requires_grad_()
    (torch.sparse.mm(s * 2, d) ** 2).sum().backward()
    m2, d2 = m.detach().requires_grad_(), d.detach().requires_grad_()
    ((2 * m2 @ d2) ** 2).sum().backward()
    assert torch.equal(d.grad, d2.grad) and torch.equal(m.grad, torch.where(m == 0, 0, m2.grad))


def test_a_leaf_has_a_sparse_gradient():
    s, v = coo(requires_grad=True), VALUES.clone().requires_grad_()
    torch.sparse.mm(s, torch.ones(3, 2)).sum().backward()
    assert s.is_leaf and s.grad.is_sparse and s.grad._values().tolist() == [2.0] * 3
    t = torch.sparse_coo_tensor(INDEX, v, (2, 3))
    assert not t.is_leaf and t.requires_grad and "SparseCooTensorWithDimsAndTensorsBackward0" in repr(t)
    torch.sparse.sum(t.coalesce() * t.coalesce()).backward()
    assert v.grad.tolist() == [6.0, 10.0, 10.0, 10.0]


def test_arithmetic_and_reductions():
    s, d = coo(), torch.tensor(DENSE)
    assert (torch.equal((s + s).to_dense(), 2 * d) and torch.equal((s - s * 3).to_dense(), -2 * d)
            and torch.equal(torch.ones(2, 3) + s, 1 + d))
    assert torch.equal((s * s).to_dense(), d * d) and torch.equal((s * (d + 1)).to_dense(), d * (d + 1))
    assert torch.equal(s.sqrt().to_dense(), d.sqrt()) and torch.equal((s ** 2).to_dense(), d ** 2) and s.norm() == d.norm()
    assert s.sum() == d.sum() and torch.equal(torch.sparse.sum(s, 0).to_dense(), d.sum(0))
    assert torch.sparse.softmax(s, 1).to_dense()[1].tolist() == [0.5, 0.0, 0.5]
    with pytest.raises(RuntimeError, match=r"^add\(sparse, dense\) is not supported. Use add\(dense, sparse\) instead.$"):
        s + torch.ones(2, 3)
    s.mul_(2).add_(s)
    assert torch.equal(s.to_dense(), 4 * d) and s.zero_()._nnz() == 0


def test_parts():
    s, d = coo(), torch.tensor(DENSE)
    assert (torch.equal(s.t().to_dense(), d.t()) and torch.equal(s[1].to_dense(), d[1]) and s[1, 0] == 5
            and torch.equal(s[:, 2].to_dense(), d[:, 2]))
    assert torch.equal(torch.cat([s, s], 1).to_dense(), torch.cat([d, d], 1)) and torch.stack([s, s]).shape == (2, 2, 3)
    assert torch.equal(s.index_select(0, torch.tensor([1, 1])).to_dense(), d[[1, 1]])
    assert torch.equal((d + 1).sparse_mask(s.coalesce()).to_dense(), torch.where(d != 0, d + 1, 0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies(layout):
    m, s = matrix(layout)
    for c in (s.clone(), copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.double().float(), s.detach()):
        assert c.layout is layout and c is not s and torch.equal(c.to_dense(), m)


def test_what_knows_no_sparse_tensors_says_so():
    s = coo()
    for f in (lambda: s.exp(), lambda: torch.linalg.norm(s), lambda: nn.functional.conv1d(s, torch.ones(1, 1, 1)), lambda: s[0:1],
              lambda: torch.equal(s, s), lambda: torch.where(s > 0, s, 0),
              lambda: torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), s)):
        with pytest.raises((NotImplementedError, RuntimeError)):
            f()
    with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
        s.numpy()


def test_assert_close_of_sparse_tensors():
    torch.testing.assert_close(coo(), coo())
    with pytest.raises(AssertionError, match="^Sparse COO values are not close!"):
        torch.testing.assert_close(coo(), coo() * 2)
    torch.testing.assert_close(coo(), torch.tensor(DENSE), check_layout=False)


def graph_convolution(adjacency):
    torch.manual_seed(0)
    x, w = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
    torch.spmm(adjacency, x @ w).relu().sum().backward()
    return w.grad


def test_a_graph_network_gets_the_gradients_of_a_dense_one():
    dense = torch.tensor([[1.0, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]])
    for adjacency in (dense.to_sparse(), dense.to_sparse_csr()):
        torch.testing.assert_close(graph_convolution(adjacency), graph_convolution(dense))


def test_a_sparse_parameter_of_a_linear_layer():
    m = nn.Linear(4, 3)
    dense = m.weight.detach()
    m.weight = nn.Parameter(m.weight.to_sparse_csr())
    assert (list(dict(m.named_parameters())) == ["weight", "bias"]
            and repr(m.weight).startswith("Parameter containing:\ntensor(crow_indices="))
    x = torch.rand(2, 4)
    torch.testing.assert_close(m(x), x @ dense.t() + m.bias)
    g, = torch.autograd.grad(m(x).sum(), m.weight)
    assert g.layout is torch.strided and torch.allclose(g, x.sum(0).expand(3, 4))


def test_in_place_operators_keep_the_dtype():
    def sparse(dtype):
        return torch.sparse_coo_tensor([[0, 1]], torch.tensor([1, 2], dtype=dtype), (3,))
    assert sparse(torch.uint8).add_(sparse(torch.int8)).dtype == torch.uint8
    with pytest.raises(RuntimeError, match="Can't convert result type Float to output Byte in add operation"):
        sparse(torch.uint8).add_(sparse(torch.float32))
    with pytest.raises(RuntimeError, match="Can't convert result type Float to output Byte in add operation"):
        torch.zeros(3, dtype=torch.uint8).add_(sparse(torch.float32))


def test_checks_of_sparse_parts_are_a_switch_and_told_of_once():
    """Wrong indices raise where the switch or the constructor asks for it; who said nothing is told once, as torch does."""
    from torchshim.tensor.core import settings
    checks, at, ones = torch.sparse.check_sparse_tensor_invariants, torch.tensor([[0, 5], [1, 0]]), torch.ones(2)
    before, settings.sparse_checks = settings.sparse_checks, None
    try:
        with pytest.warns(UserWarning, match="Sparse invariant checks are implicitly disabled") as told:
            torch.sparse_coo_tensor(at, ones, (2, 2))
            torch.sparse_coo_tensor(at, ones, (2, 2))
        assert len(told) == 1 and not checks.is_enabled()
        with checks(), pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0, size is 2 but found index 5"):
            assert checks.is_enabled()
            torch.sparse_coo_tensor(at, ones, (2, 2))
        checks.enable()
        with pytest.raises(RuntimeError, match="is not satisfied"):
            torch.sparse_csr_tensor(torch.tensor([0, 1, 1]), torch.tensor([0, 1]), ones, (2, 2))
        checks(False)(lambda: torch.sparse_coo_tensor(at, ones, (2, 2)))()
        torch.sparse_coo_tensor(at, ones, (2, 2), check_invariants=False)
        assert checks.is_enabled()
        checks.disable()
        torch.sparse_coo_tensor(at, ones, (2, 2))
    finally:
        settings.sparse_checks = before


def test_factories_of_zeros_make_sparse_tensors_without_values():
    for made in (torch.zeros(2, 3, layout=torch.sparse_coo), torch.empty(2, 3, layout=torch.sparse_coo),
                 torch.zeros_like(torch.ones(2, 3), layout=torch.sparse_coo), torch.ones(1).new_zeros((2, 3), layout=torch.sparse_coo)):
        assert made.layout is torch.sparse_coo and made._nnz() == 0 and made.is_coalesced() and made.to_dense().tolist() == [[0.0] * 3] * 2
    wants = torch.zeros(2, layout=torch.sparse_coo, dtype=torch.float64, requires_grad=True)
    assert wants.requires_grad and wants.is_leaf and wants.dtype == torch.float64
    for full in (lambda: torch.ones(2, layout=torch.sparse_coo), lambda: torch.full((2,), 1.0, layout=torch.sparse_coo)):
        with pytest.raises(RuntimeError, match=r"full\(\.\.\.\) is not implemented for sparse layout"):
            full()


def test_coordinate_tensors_are_walked_through_and_have_no_memory():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.], (2, 3))
    assert [row.to_dense().tolist() for row in s] == [[0, 0, 3], [4, 0, 5]]
    assert [c.to_dense().tolist() for c in s.unbind(1)] == [[0, 4], [0, 0], [3, 5]]
    assert s.stride() == (0, 0) and s.storage_offset() == 0
    assert s.coalesce().narrow_copy(1, 0, 2).to_dense().tolist() == [[0, 0], [4, 0]]
    assert torch.empty_like(s).is_sparse and torch.empty_like(s).shape == (2, 3)
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        s[0] = 1
    with pytest.raises(RuntimeError, match="Sparse CSR tensors do not have strides"):
        s.to_sparse_csr().stride()


def test_products_that_stay_sparse():
    """hspmm in its rows, smm and sspaddmm in both dimensions, not coalesced; none of them has a gradient, as in torch."""
    x = torch.sparse_coo_tensor([[2, 0, 2, 2], [1, 0, 1, 0]], [1., 2., 3., 4.], (4, 3))
    s = torch.sparse_coo_tensor([[0, 0], [1, 1]], [5., 6.], (4, 2))
    d = torch.arange(6.).reshape(3, 2) + 1
    h = torch.hspmm(x, d)
    assert h._indices().tolist() == [[0, 2]] and h._values().tolist() == [[2, 4], [16, 24]] and not h.is_coalesced()
    assert torch.smm(x, d)._indices().tolist() == [[0, 0, 2, 2], [0, 1, 0, 1]] and torch.smm(x, d)._values().tolist() == [2, 4, 16, 24]
    y = torch.sspaddmm(s, x, d, alpha=2)
    assert y._values().tolist() == [5, 6, 4, 8, 32, 48] and y._indices().tolist() == [[0, 0, 0, 0, 2, 2], [1, 1, 0, 1, 0, 1]]
    assert torch.sspaddmm(2, s, 3, x, d)._values().tolist() == [10, 12, 6, 12, 48, 72]
    assert torch.saddmm(s, x, d).to_dense().tolist() == [[2, 15], [0, 0], [16, 24], [0, 0]]
    with pytest.raises(RuntimeError, match="sspaddmm: Argument #1: Expected dim 0 size 4, got 2"):
        torch.sspaddmm(s.t(), x, d)
    with pytest.raises(RuntimeError, match=r"tensor.sspaddmm\(...\) can only be called on sparse tensors"):
        torch.smm(d, d)
    with pytest.raises(RuntimeError, match="derivative for aten::hspmm is not implemented"):
        torch.hspmm(x.requires_grad_(), d).to_dense().sum().backward()


def test_parts_wrap_at_the_width_of_the_line():
    """What stands before a part counts."""
    s = torch.sparse_csr_tensor(torch.tensor([0, 8]), torch.arange(8), torch.arange(8) * 1.1111 + 0.5, (1, 8))
    assert str(s) == """tensor(crow_indices=tensor([0, 8]),
       col_indices=tensor([0, 1, 2, 3, 4, 5, 6, 7]),
       values=tensor([0.5000, 1.6111, 2.7222, 3.8333, 4.9444, 6.0555, 7.1666,
                      8.2777]), size=(1, 8), nnz=8, layout=torch.sparse_csr)"""


@pytest.mark.parametrize("reduce, value, left, right", [
    ("mean", [[4.5, -.5], [0, 0], [-4.5, 5], [35 / 3, 5 / 3]], [-.5, 0, 7, 3.5, 20 / 3, 11 / 3, 6],
     [[16, 115 / 6], [2, 13 / 6], [10, 38 / 3]]),
    ("amax", [[6, 0], [0, 0], [3, 6], [15, 10]], [0, 0, 14, 0, 14, 18, 0], [[12, 50], [30, 0], [0, 2]]),
    ("amin", [[3, -1], [0, 0], [-12, 4], [5, -5]], [-1, 0, 0, 7, 6, -7, 0], [[30, 0], [-16, 16], [0, 0]])])
def test_products_that_are_not_summed(reduce, value, left, right):
    """The first of equal ones gets the gradient; rows without values are zeros."""
    s = torch.tensor([[0, 1., 2], [0, 0, 0], [3, -4, 0], [5, 5, 5]]).to_sparse_csr().requires_grad_()
    x = torch.tensor([[1., 2], [3, -1], [3, 0]], requires_grad=True)
    y = torch.sparse.mm(s, x, reduce)
    assert torch.allclose(y, torch.tensor(value, dtype=y.dtype)) and type(y.grad_fn).__name__ == "SparseMmReduceImplBackward0"
    (y * torch.arange(8.).reshape(4, 2)).sum().backward()
    assert torch.allclose(s.grad.values(), y.new_tensor(left)) and torch.allclose(x.grad, y.new_tensor(right))
    for short, long in (("max", "amax"), ("min", "amin")):
        assert torch.equal(torch.sparse.mm(s, x, short), torch.sparse.mm(s, x, long))
    for args, text in (((s, x, "foo"), "reduce argument must be either sum, prod, mean, amax or amin, got foo"),
                       ((s, x, "prod"), "reduce type of prod has not been enabled"),
                       ((s, x.t(), "mean"), r"tensor.size\[0\] == 3 but got")):
        with pytest.raises(RuntimeError, match=text):
            torch.sparse.mm(*args)


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_compressed_tensors_with_dense_dimensions(layout):
    x = torch.arange(48.).reshape(4, 4, 3) * torch.tensor([1., 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1]).reshape(4, 4, 1)
    s = getattr(x, f"to_sparse_{layout}")(*(((2, 2),) if layout[0] == "b" else ()), dense_dim=1)
    assert s.values().shape[1:] == ((2, 2, 3) if layout[0] == "b" else (3,)) and s.shape == (4, 4, 3)
    assert torch.equal(s.to_dense(), x) and torch.equal(s.to_sparse_coo().to_dense(), x)
    index = (s.crow_indices(), s.col_indices()) if layout[1:] == "sr" else (s.ccol_indices(), s.row_indices())
    again = torch.sparse_compressed_tensor(*index, s.values(), layout=s.layout)
    assert torch.equal(again.to_dense(), x)


def test_the_last_two_dimensions_of_batches_are_exchanged():
    # mT of a batch exchanged its first two
    s = torch.arange(24.).reshape(2, 3, 4).to_sparse()
    for turned in (s.mT, s.mH, s.adjoint(), s.transpose(-1, -2)):
        assert turned.shape == (2, 4, 3) and torch.equal(turned.to_dense(), s.to_dense().mT)
    assert torch.equal(s.T.to_dense(), s.to_dense().permute(2, 1, 0))
    with pytest.raises(RuntimeError, match="dimensions, but got 3 sparse and 0 dense dimensions"):
        s.t()
    c = (torch.eye(2) * (1 + 2j)).to_sparse()
    assert torch.equal(c.mH.to_dense(), c.to_dense().mH) and torch.equal(c.H.to_dense(), c.to_dense().H)
    assert torch.arange(3.).to_sparse().t().shape == (3,)


def test_compressed_indices_by_torchs_names():
    first, second, values = torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([1., 2])
    a = torch.sparse_csr_tensor(crow_indices=first, col_indices=second, values=values, size=(2, 2))
    b = torch.sparse_csc_tensor(ccol_indices=first, row_indices=second, values=values)
    c = torch.sparse_compressed_tensor(compressed_indices=first, plain_indices=second, values=values, layout=torch.sparse_csr)
    assert a.to_dense().tolist() == [[0, 1], [2, 0]] == c.to_dense().tolist() and b.to_dense().tolist() == [[0, 2], [1, 0]]


def test_a_sparse_tensor_of_another_dtype_has_places_of_its_own():
    for x in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
        def place(t):
            return (t._indices() if t.layout is torch.sparse_coo else t.col_indices()).data_ptr()
        assert x.to("cpu") is x
        others = x.to(torch.float64), x.to("cpu", copy=True), x.clone()
        assert len({place(t) for t in (x, *others)}) == 4
