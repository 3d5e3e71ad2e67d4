"""Protects conversions between layouts, batches of compressed tensors, factories, sizes and torch's errors for them."""
import pytest

import torchshim as torch

D = torch.arange(24.0).reshape(4, 6)
B = torch.arange(1, 25.0).reshape(2, 3, 4)


@pytest.mark.parametrize("f, message", [
    (lambda: D.to_sparse(3), r"dense_to_sparse: sparse_dim argument must be in \[0,2\] range, but 3 is given"),
    (lambda: D.to_sparse(blocksize=(1,)), r"dense_to_sparse: blocksize needs to be a tuple of size 2, but got 1"),
    (lambda: D.to_sparse_bsr((2, 4)), r"dense_to_sparse_bsr: tensor sparse size \(4,6\) must be divisible by given blocksize \(2,4\)"),
    (lambda: D.to_sparse(layout=torch.sparse_bsr), "dense_to_sparse: conversion from Strided to SparseBsr without blocksize argument "
                                                   "given"),
    (lambda: D.to_sparse().to_sparse(1), r"to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim\(\) is "
                                         r"not"),
    (lambda: D.to_sparse_csr().to_sparse(1), "sparse_compressed_to_sparse: conversion from SparseCsr to Sparse with sparse_dim argument "
                                             "!=2"),
    (lambda: D.to_sparse_bsr((2, 3)).to_sparse_csr(), "sparse_compressed_to_sparse_csr: expected SparseCsr or SparseCsc layout but got "
                                                      "SparseBsr"),
    (lambda: D.to_sparse()[0].to_sparse_csr(), r"coo_to_sparse_csr: conversion from Sparse to SparseCsr for input tensors with "
                                               r"sparse_dim\(\)!=2"),
])
def test_refused_conversions(f, message):
    with pytest.raises(RuntimeError, match=message):
        f()


def test_conversions():
    s, r, k = D.to_sparse(), D.to_sparse_csr(), D.to_sparse_bsr((2, 3))
    assert s.to_sparse() is s and r.to_sparse(layout=torch.sparse_csr) is r and k.to_sparse_bsr((2, 3)) is k
    assert r.to_sparse().is_coalesced() and not D.to_sparse_csc().to_sparse().is_coalesced() and not k.to_sparse().is_coalesced()
    for x in (s, r, k, r.to_sparse_csc(), k.to_sparse_bsc((2, 3)), r.to_sparse_bsr((2, 2)), D.to_sparse(1)):
        assert torch.equal(x.to_dense(), D)
    assert torch.tensor(5.0).to_sparse()._indices().shape == (0, 1) and torch.tensor(0.0).to_sparse()._nnz() == 0
    with pytest.raises(RuntimeError, match="dtype argument is not supported by sparse_to_dense"):
        s.to_dense(torch.float64)


@pytest.mark.parametrize("layout, block",
    [(torch.sparse_csr, None), (torch.sparse_csc, None), (torch.sparse_bsr, (1, 2)), (torch.sparse_bsc, (3, 2))])
def test_batches(layout, block):
    s = B.to_sparse(layout=layout, blocksize=block)
    assert s.shape == B.shape and torch.equal(s.to_dense(), B) and torch.equal((s * 2).to_dense(), 2 * B) and s.sum() == B.sum()
    assert torch.equal(s.transpose(1, 2).to_dense(), B.transpose(1, 2)) and torch.equal(B.sparse_mask(s).to_dense(), B)
    assert torch.zeros_like(s)._nnz() == 0 and torch.equal(s.to_sparse().to_dense(), B)
    with pytest.raises(RuntimeError, match="^Expect the same number of specified elements per batch.$"):
        torch.tensor([[[1.0, 0.0]], [[1.0, 1.0]]]).to_sparse_csr()
    with pytest.raises(RuntimeError, match=r"can only transpose dimensions of the same type \(Batch, Sparse, Dense\), got 0\(Batch\) and "
                                           r"1\(Sparse\)"):
        s.transpose(0, 1)


def test_factories():
    s = D.to_sparse()
    assert torch.zeros(2, 3, layout=torch.sparse_csr)._nnz() == 0 and s.new(2, 3).shape == (2, 3) and s.new_zeros(2).is_sparse
    assert torch.zeros(2, 2, out=s) is s and s.shape == (2, 2) and s._nnz() == 0
    assert torch.zeros_like(D.to_sparse(), layout=torch.strided).layout is torch.strided
    with pytest.raises(RuntimeError, match="^memory format option is only supported by strided tensors$"):
        torch.empty_like(s, memory_format=torch.contiguous_format)
    with pytest.raises(NotImplementedError, match="^Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend"):
        torch.ones_like(s)
    meta = D.to_sparse().to("meta")
    assert meta.is_meta and meta._nnz() == 0 and repr(meta).startswith("tensor(indices=tensor(..., size=(2, 0)),") and meta.clone().is_meta


def test_sizes():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    assert s.clone().sparse_resize_((4, 4), 2, 0).to_dense()[1, 0] == 9 and s.clone().sparse_resize_and_clear_((1, 1, 2), 2, 1)._nnz() == 0
    with pytest.raises(RuntimeError, match=r"^shrinking the size of sparse dimensions \(from \[2, 3\] to \[1, 1\]\) on a non-empty sparse "
                                           r"tensor"):
        s.sparse_resize_((1, 1), 2, 0)
    with pytest.raises(RuntimeError, match=r"^changing the number of dense dimensions \(from 0 to 1\)"):
        s.copy_(torch.sparse_coo_tensor([[0], [0]], [[1.0, 2.0]], (2, 3, 2)))
    assert torch.sparse_coo_tensor([[0]], [1.0]).is_coalesced() and not s.is_coalesced() and s.is_coalesced() is False
    with pytest.raises(RuntimeError, match=r"'len\(size\) == sparse_dim \+ dense_dim' is not satisfied: len\(size\) = 2, sparse_dim = 1, "
                                           r"dense_dim = 0"):
        torch.sparse_coo_tensor([[0]], [1.0], (2, 2))


def test_products_of_what_has_places_more_than_once():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, -5.5], (2, 3))
    assert torch.equal((s * s).to_dense(), s.to_dense() ** 2)
    assert (s * torch.ones(4, 2, 3))._nnz() == 8 and (s * torch.tensor(2.0).to_sparse())._values().tolist() == [6.0, 8.0, -11.0]
    with pytest.raises(RuntimeError, match="^asin_ requires coalesced input$"):
        s.asin_()
    assert torch.div(s, 2, rounding_mode="floor")._values().tolist() == [1.0, -1.0] and (s / 2)._nnz() == 3
    h = torch.sparse_coo_tensor([[0, 1], [2, 0]], [[3.0, 4.0], [5.0, 6.0]], (2, 3, 2))
    assert torch.equal(torch.cat([h, h], 2).to_dense(), torch.cat([h.to_dense()] * 2, 2)) and torch.equal((h * torch.ones(2)).to_dense(),
        h.to_dense())


def test_sums_of_what_has_places_more_than_once():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, -5.5], (2, 3))
    t = torch.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 2.0, 3.0], (2, 3)).coalesce()
    u = s + t                                    # as torch walks through both: places that come twice in one stay two
    assert u._indices().tolist() == [[0, 0, 1, 1, 1], [0, 2, 0, 0, 1]] and u._values().tolist() == [1.0, 5.0, 4.0, -5.5, 3.0]
    c = s.coalesce() + t
    assert c.is_coalesced() and c.indices().tolist() == [[0, 0, 1, 1], [0, 2, 0, 1]] and c.values().tolist() == [1.0, 5.0, -1.5, 3.0]
    assert torch.equal((s - t).to_dense(), s.to_dense() - t.to_dense()) and not u.is_coalesced()


def test_no_bools_are_subtracted():
    one, bools = [torch.eye(2).to(d).to_sparse() for d in (torch.float32, torch.bool)]
    for a, b, text in ((one, bools, "with a bool tensor"), (bools, one, "with a bool tensor"), (bools, bools, "with two bool tensors")):
        with pytest.raises(RuntimeError, match=f"Subtraction, the `-` operator, {text} is not supported"):
            a - b


def test_a_product_in_place_forgets_that_it_is_coalesced():
    s = torch.eye(2).to_sparse()
    assert s.is_coalesced() and (s * 2).is_coalesced() and not s.mul_(2).is_coalesced()
