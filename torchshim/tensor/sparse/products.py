"""Matrix products with sparse tensors."""
from __future__ import annotations

import numpy as np

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from .base import COO, NAMES, handles, host, is_sparse, made, named, on, write
from .compressed import CSR, compress
from .coo import coalesce, to_coo, transpose


def _check(a, b, name="mm"):
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(f"{name}: expected two matrices, got {a.dim()}D and {b.dim()}D tensors")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    for x in (a, b):
        if is_sparse(x) and x._layout is COO and x._vals.dim() != 1:
            raise RuntimeError(f"sparse matrix length must be 2-D with no dense dimension, but {list(x.shape)} has dense ones")


def _by_dense(a, b):
    """COO (n, m) by dense (m, k): every value times its row of `b`, added up by rows."""
    rows, columns = a._index[0]
    out = F["zeros"]((a._ts_meta.shape[0], b.shape[1]), dtype=b.dtype, device=b.device)
    return named(out.index_add(0, rows, a._vals.unsqueeze(1) * b.index_select(0, columns)), "SparseAddmmBackward0")


def _by_sparse(a, b):
    """COO by COO, coalesced: every value of `a` meets the row of `b` that its column names."""
    a, b = coalesce(a), coalesce(b)
    (rows, inner), (b_rows, columns) = host(a._index[0]), host(b._index[0])
    low, high = (np.searchsorted(b_rows, inner, side) for side in ("left", "right"))
    left = np.repeat(np.arange(len(inner)), high - low)
    right = np.concatenate([np.arange(i, j) for i, j in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    shape, device = (a._ts_meta.shape[0], b._ts_meta.shape[1]), to_jax(a.device)
    from .coo import gathered
    return gathered(a, rows[left] * shape[1] + columns[right], a._vals[on(device, left)] * b._vals[on(device, right)], shape, shape)


@handles("mm", "spmm", "dsmm", "sparse_mm", "_sparse_mm")
def mm(a, b):
    """The product of two matrices: dense if one of them is, else sparse."""
    _check(a, b)
    if not is_sparse(b):
        return _by_dense(to_coo(a), b)
    if not is_sparse(a):
        return _by_dense(transpose(to_coo(b)), a.t()).t()
    made_of = _by_sparse(to_coo(a), to_coo(b))
    return compress(made_of, a._layout) if a._layout is b._layout and a._layout is not COO else made_of


def reduced_mm(a, b, reduce):
    """CSR by dense: each element the sum, mean, maximum or minimum of the products of a row's values; zero for rows without any."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if not is_sparse(a) or a._layout is COO:
        raise NotImplementedError(f"Could not run 'aten::_sparse_mm_reduce_impl' with arguments from the "
                                  f"'{'SparseCPU' if is_sparse(a) else 'CPU'}' backend.")
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if a._layout is not CSR:
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got {NAMES[a._layout.name]}")
    if is_sparse(b):
        raise RuntimeError(f"Expected tensor to have Strided Layout, but got tensor with {NAMES[b._layout.name]} Layout (while checking "
                           "arguments for sparse_mm_reduce)")
    if b.dtype is not a.dtype:
        raise RuntimeError(f"Expected tensor for argument #1 'other' to have scalar type {c_name(a._vals._ts_meta.dtype)}; but got "
                           f"torch.{c_name(b._ts_meta.dtype)}Tensor instead (while checking arguments for sparse_mm_reduce)")
    if b.dim() != 2 or b.shape[0] != a.shape[1]:
        raise RuntimeError(f"Expected a tensor of dimension 2 and tensor.size[0] == {a.shape[1]} but got: dimension {b.dim()} and "
                           f"tensor.size[0] = {b.shape[0] if b.dim() else 0}")
    if not a.dtype.is_floating_point:
        raise NotImplementedError(f"\"spmm_reduce_kernel\" not implemented for '{c_name(a._vals._ts_meta.dtype)}'")
    begin, device = host(a._index[0]), to_jax(a.device)
    counts = np.diff(begin)
    terms = a._vals.unsqueeze(1) * b.index_select(0, a._index[1])
    out = F["zeros"]((a.shape[0], b.shape[1]), dtype=b.dtype, device=b.device)
    if reduce in ("sum", "mean"):
        out = out.index_add(0, on(device, np.repeat(np.arange(len(counts)), counts)), terms)
        if reduce == "mean":
            out = out / on(device, np.maximum(counts, 1)[:, None]).to(out.dtype)
    elif terms._ts_meta.numel:
        rows = np.flatnonzero(counts)
        first = _first_extreme(host(terms.detach()), begin[:-1][rows], counts[rows], np.maximum if reduce == "amax" else np.minimum)
        out = out.index_copy(0, on(device, rows), terms.gather(0, on(device, first)))
    return named(out, "SparseMmReduceImplBackward0")


def _first_extreme(terms, begin, counts, extreme):
    """Where, for each column, the first of the largest (or smallest) of each run of rows is; a nan is the most extreme of all."""
    best = np.repeat(extreme.reduceat(terms, begin), counts, 0)
    at = np.where((terms == best) | (best != best) & (terms != terms), np.arange(len(terms))[:, None], len(terms))
    return np.minimum.reduceat(at, begin)


@handles("mv")
def mv(a, x):
    """A sparse matrix by a vector."""
    if x.dim() != 1 or a.shape[1] != x.shape[0]:
        raise RuntimeError(f"mv: Expected self.size(-1) == vec.size(-1), but got sizes {list(a.shape)} and {list(x.shape)}")
    return mm(a, x.unsqueeze(1)).squeeze(1)


@handles("bmm")
def bmm(a, b):
    """Batches of sparse matrices by dense ones."""
    if not is_sparse(a) or is_sparse(b) or a._layout is not COO:
        raise NotImplementedError("torchshim: bmm of anything but coordinates and a dense tensor")
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm: the sizes {list(a.shape)} and {list(b.shape)} do not fit")
    batch, rows, columns = a._index[0]
    n, m = a._ts_meta.shape[1:]
    flat = _by_dense(made(COO, (F["stack"]([batch * n + rows, batch * m + columns]),), a._vals, (a._ts_meta.shape[0] * n, b.shape[0] * m)),
                     b.reshape(-1, b.shape[2]))
    return flat.reshape(a._ts_meta.shape[0], n, b.shape[2])


@handles("matmul", "__matmul__", "__rmatmul__")
def matmul(a, b):
    """a @ b for matrices, a matrix and a vector, and batches."""
    if a.dim() == 2 and b.dim() == 2:
        return mm(a, b)
    if a.dim() == 2 and b.dim() == 1:
        return mv(a, b)
    if a.dim() == 1 and b.dim() == 2:
        return mv(transpose(b), a)
    if a.dim() == 3 and b.dim() == 3:
        return bmm(a, b)
    raise NotImplementedError(f"torchshim: matmul of tensors with {a.dim()} and {b.dim()} dimensions, one of them sparse")


def _product_rows(name, a, b):
    """The rows of a COO matrix that hold anything, on the host, and those of its product with a dense one."""
    for number, x in ((2, a), (3, b)):
        if x.dim() != 2:
            raise RuntimeError(f"{name}: Argument #{number}: matrices expected, got {x.dim()}D tensor")
    if b.shape[0] != a.shape[1]:
        raise RuntimeError(f"{name}: Argument #3: Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.dtype is not b.dtype:
        raise RuntimeError("expected scalar type {} but found {}".format(*[c_name(x._ts_meta.dtype) for x in (a, b)]))
    a = coalesce(a)
    where, columns = host(a._index[0])
    rows, to = np.unique(where, return_inverse=True)
    device = to_jax(a.device)
    total = F["zeros"]((len(rows), b.shape[1]), dtype=b.dtype, device=b.device)
    return rows, total.index_add(0, on(device, to.reshape(-1)), a._vals.unsqueeze(1) * b.index_select(0, on(device, columns)))


def _without_derivative(name, vals):
    """Values with a history that ends in torch's refusal, if they have one."""
    if not vals.requires_grad:
        return vals

    def refuse(gradients):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")
    vals = named(vals.view_as(vals), "NotImplemented")
    vals.grad_fn.register_prehook(refuse)
    return vals


@handles("hspmm", "hsmm")
def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one: sparse in its rows, which are dense."""
    if not is_sparse(mat1) or mat1._layout is not COO:
        backend = f"{NAMES[mat1._layout.name]}CPU" if is_sparse(mat1) else "CPU"
        raise NotImplementedError(f"Could not run 'aten::hspmm' with arguments from the '{backend}' backend.")
    if is_sparse(mat2):
        raise NotImplementedError("torchshim: hspmm of two sparse matrices")
    rows, vals = _product_rows("hspmm", mat1, mat2)
    index = on(to_jax(mat1.device), rows.astype(np.int64)[None])
    return made(COO, (index,), _without_derivative("hspmm", vals), (mat1.shape[0], mat2.shape[1]))


@handles("sspaddmm", "saddmm")
def sspaddmm(input, mat1, mat2, *more, beta=1, alpha=1, out=None):
    """beta * input + alpha * mat1 @ mat2 of sparse input and mat1 and a dense mat2: sparse, not coalesced.

    As in torch, (beta, input, mat1, mat2) and (beta, input, alpha, mat1, mat2) will do too."""
    if more:
        beta, input, alpha, mat1, mat2 = (input, mat1, 1, mat2, *more) if len(more) == 1 else (input, mat1, mat2, *more)
    if not is_sparse(mat1) or mat1._layout is not COO:
        layout = mat1._layout.name.replace("s", "S", 1) if is_sparse(mat1) else "Strided"
        raise RuntimeError(f"sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout {layout}")
    if not is_sparse(input) or input._layout is not COO or is_sparse(mat2):
        raise RuntimeError("sspaddmm: expected sparse coordinates for input and mat1, and a dense mat2")
    rows, vals = _product_rows("sspaddmm", mat1, mat2)
    for d, n in enumerate((mat1.shape[0], mat2.shape[1])):
        if input.shape[d] != n:
            raise RuntimeError(f"sspaddmm: Argument #1: Expected dim {d} size {n}, got {input.shape[d]}")
    width = mat2.shape[1]
    where = np.stack([rows.repeat(width), np.tile(np.arange(width), len(rows))]).astype(np.int64)
    index = F["cat"]([input._index[0], on(to_jax(mat1.device), where)], 1)
    held = input._vals if beta == 1 else input._vals * beta
    vals = F["cat"]([held, (vals if alpha == 1 else vals * alpha).reshape(-1)])
    made_of = made(COO, (index,), _without_derivative("sspaddmm", vals), input.shape)
    return made_of if out is None else write(out, made_of)


@handles("smm")
def smm(self, mat2):
    """The product of a sparse matrix and a dense one, sparse in both dimensions."""
    if self.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(f"sspaddmm: Argument #{2 if self.dim() != 2 else 3}: matrices expected, got "
                           f"{self.dim() if self.dim() != 2 else mat2.dim()}D tensor")
    none = F["zeros"]((0,), dtype=mat2.dtype, device=mat2.device)
    at = on(to_jax(mat2.device), np.zeros((2, 0), np.int64))
    return sspaddmm(made(COO, (at,), none, (self.shape[0], mat2.shape[1])), self, mat2)


@handles("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * mat1 @ mat2."""
    product = mm(mat1, mat2)
    if is_sparse(product) and not is_sparse(input):
        raise NotImplementedError("torchshim: addmm of a dense tensor and a sparse product")
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


@handles("nn.functional.linear")
def linear(input, weight, bias=None):
    """input @ weight.T + bias with a sparse weight."""
    flat = input.reshape(-1, input.shape[-1])
    out = mm(flat, transpose(weight)).reshape(*input.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias
