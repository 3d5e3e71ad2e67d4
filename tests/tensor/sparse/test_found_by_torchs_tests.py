"""Sparse tensors where torch's own tests look: what stays coalesced, products that broadcast, and refusals."""
import pytest

import torchshim as torch


def matrix(coalesced=True):
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    return s.coalesce() if coalesced else s


def test_what_is_known_as_coalesced_after_a_permutation():
    s, nothing = matrix(), torch.sparse_coo_tensor(size=(2, 3))
    assert s.permute(0, 1).is_coalesced() and not s.permute(-2, -1).is_coalesced() and not s.permute(1, 0).is_coalesced()
    assert not s.t().is_coalesced() and nothing.t().is_coalesced() and nothing.transpose(0, 1).is_coalesced()
    assert s.transpose(0, 0).is_coalesced() and not nothing.T.is_coalesced() and not matrix(False).permute(0, 1).is_coalesced()


def test_products_broadcast_in_dense_dimensions():
    for rows in ([0, 1], [1, 1]):
        a = torch.sparse_coo_tensor([rows], [[1.0, 2.0], [3.0, 4.0]], (2, 2))
        b = torch.sparse_coo_tensor([[0, 1]], [[2.0], [3.0]], (2, 1))
        made = a * b
        assert made.shape == (2, 2) and made.to_dense().tolist() == (a.to_dense() * b.to_dense()).tolist() == (b * a).to_dense().tolist()
    with pytest.raises(RuntimeError, match="expects sparse inputs with equal dimensionality"):
        matrix() * torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 1))


@pytest.mark.parametrize("call, error, text", [
    (lambda s: torch.sparse_coo_tensor([[100000, 99999]] * 4, [1, 2], (100001,) * 4), RuntimeError, "numel: integer multiplication overflow"),
    (lambda s: torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,), check_invariants=True, is_coalesced=True), RuntimeError,
     "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"),
    (lambda s: torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), check_invariants=True, is_coalesced=True), RuntimeError,
     "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"),
    (lambda s: s.new(s.values()), TypeError, r"new\(\) received an invalid combination of arguments - got \(Tensor\)"),
    (lambda s: s.new([6]), TypeError, r"SparseTensor.new\(sequence\) only accepts sizes"),
    (lambda s: s // s, RuntimeError, r"Sparse floor division requires a scalar or zero-dim dense tensor divisor \(got shape \[2, 3\]"),
    (lambda s: 1 // s, RuntimeError, "Sparse floor division requires a scalar or zero-dim dense tensor divisor"),
    (lambda s: torch.mm(s.double(), s.t()), RuntimeError, "mat1 dtype Double does not match mat2 dtype Float"),
    (lambda s: torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]), (3, 2, 3)), RuntimeError, "Output shape must be 2d"),
    (lambda s: torch.sparse.spdiags(torch.ones(2, 3), torch.zeros(1, 2).long(), (3, 3)), RuntimeError, "Offsets must be scalar or vector"),
    (lambda s: torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]), (3, 3), torch.strided), RuntimeError,
     r"Only output layouts \(Sparse, SparseCsc, SparseCsr\) are supported, got Strided"),
    (lambda s: torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]).int(), (3, 3)), RuntimeError,
     "Offset Tensor must have dtype Long but got Int")])
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(matrix())


def test_no_diagonals_make_zeros():
    made = torch.sparse.spdiags(torch.ones(0, 3), torch.tensor([]).long(), (3, 3))
    assert made.to_dense().tolist() == [[0] * 3] * 3


def test_dense_parts_grow_as_memory_does():
    s = torch.sparse_coo_tensor([[0]], [[[0.0, 1.0], [2.0, 3.0]]], (1, 2, 2))
    s.sparse_resize_((1, 2, 3), 1, 2)
    assert s.to_dense().flatten()[:4].tolist() == [0, 1, 2, 3]
