"""Matrix products with sparse tensors."""
from __future__ import annotations

import numpy as np

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from .arithmetic import delivered, fitting
from ..core.handle import read
from .base import COO, NAMES, handles, host, is_sparse, known, made, on, write
from .compressed import CSR, block_of, blocked, compress
from .coo import coalesce, gathered, like_places, sparse_mask, to_coo, values_of
from .history import conj, missing, named, plain, traced, underivable, write_dense


def _check(a, b):
    if a.dim() != 2 or b.dim() != 2:
        wrong = b if a.dim() == 2 else a
        if wrong.dim() < 2:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{max(wrong.dim(), 1)}, {max(wrong.dim(), 1) - 1}], but "
                             "got 1)")
        raise RuntimeError(f"mm: expected two matrices, got {a.dim()}D and {b.dim()}D tensors")
    if a.shape[1] != b.shape[0]:
        if is_sparse(a) and a._layout is COO and not is_sparse(b):
            raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype and all([is_sparse(x) and x._layout is COO for x in (a, b)]):
        raise RuntimeError(f"mat1 dtype {c_name(a.dtype.np)} does not match mat2 dtype {c_name(b.dtype.np)}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {c_name(a.dtype.np)} but found {c_name(b.dtype.np)}")
    for x in (a, b):
        if is_sparse(x) and x._layout is COO and x._vals.dim() != 1:
            raise RuntimeError(f"sparse matrix length must be 2-D with no dense dimension, but {list(x.shape)} has dense ones")


def _by_dense(a, b):
    """COO (n, m) by dense (m, k), without history: every value times its row of `b`, added up by rows."""
    out = F["zeros"]((a._ts_meta.shape[0], b.shape[1]), dtype=b.dtype, device=b.device)
    if not a._vals.shape[0]:
        return out
    rows, columns = _rows_and_columns(a)
    return out.index_add(0, rows, a._vals.unsqueeze(1) * b.index_select(0, columns))


def _rows_and_columns(a):
    """The two rows of a COO matrix's indices; a small copy of them where they are known already."""
    index = a._index[0]
    if read(index).array is None:              # still to be computed, with what uses it
        return tuple(index)
    device = to_jax(a.device)
    return known(a, "rows", lambda: tuple([on(device, np.ascontiguousarray(k)) for k in host(index)]))


def _flipped(a):
    """A COO matrix transposed, without history."""
    rows, columns = _rows_and_columns(a)
    if read(a._index[0]).array is None:
        return made(COO, (F["stack"]([columns, rows]),), a._vals, a._ts_meta.shape[::-1], False)
    index, kept = known(a, "turned", lambda: (on(to_jax(a.device), np.ascontiguousarray(host(a._index[0])[::-1])), {}))
    turned = made(COO, (index,), a._vals, a._ts_meta.shape[::-1], False)
    kept.setdefault("rows", ([0], (columns, rows)))
    turned.__dict__["_known"] = kept
    return turned


def _by_sparse(a, b):
    """COO by COO, coalesced, without history: every value of `a` meets the row of `b` that its column names."""
    a, b = coalesce(a), coalesce(b)
    (rows, inner), (b_rows, columns) = host(a._index[0]), host(b._index[0])
    low, high = [np.searchsorted(b_rows, inner, side) for side in ("left", "right")]
    left = np.repeat(np.arange(len(inner)), high - low)
    right = np.concatenate([np.arange(i, j) for i, j in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    shape, device = (a._ts_meta.shape[0], b._ts_meta.shape[1]), to_jax(a.device)
    index, vals = gathered(rows[left] * shape[1] + columns[right], a._vals[on(device, left)] * b._vals[on(device, right)], shape)
    return made(COO, (index,), vals, shape, True)


def _mm(a, b):
    """a @ b without history."""
    if not is_sparse(b):
        return _by_dense(to_coo(a), b)
    if not is_sparse(a):
        out = _by_dense(_flipped(to_coo(b)), a.t()).t()
        return out if b._layout is COO else out.contiguous()
    product = _by_sparse(to_coo(a), to_coo(b))
    if a._layout is COO or b._layout is COO:
        return product
    return compress(product, CSR if not blocked(a._layout) else a._layout, block_of(a))


def _adjoint(x):
    if is_sparse(x) and x._ts_edge is None and x._layout is COO and not x.is_complex() and x.dim() == 2:
        return _flipped(x)
    return conj(F["t"](x))


@handles("mm", "spmm", "dsmm")
def mm(a, b, *, out=None):
    """The product of two matrices: dense if one of them is, else sparse. So are its gradients."""
    _check(a, b)
    result = traced("MmBackward0", _mm(plain(a), plain(b)), (a, b),
                    (lambda g: F["mm"](g, _adjoint(b)), lambda g: F["mm"](_adjoint(a), g)), (a, b))
    return delivered("mm", result, out)


def _masked(a, f):
    """A gradient where `a` has values, if that is sparse."""
    if not is_sparse(a):
        return f
    p = plain(a)
    return lambda g: sparse_mask(f(g), coalesce(p) if p._layout is COO else p)


def sparse_mm(a, b):
    """torch.sparse.mm: as mm, but a sparse matrix has its gradient where it has values."""
    if not is_sparse(a) and not is_sparse(b):
        return F["mm"](a, b)
    if not is_sparse(a):
        return named(F["t"](sparse_mm(F["t"](b), F["t"](a))), "TransposeBackward0")
    _check(a, b)
    if is_sparse(b):
        return traced("SparseSparseMatmulBackward0", _mm(plain(a), plain(b)), (a, b),
                      (lambda g: like_places(F["mm"](g, _adjoint(b)), plain(a)), lambda g: like_places(F["mm"](_adjoint(a), g), plain(b))),
                      (a, b))
    return traced("SparseAddmmBackward0", _mm(plain(a), plain(b)), (a, b),
                  (_masked(a, lambda g: F["mm"](g, _adjoint(b))), lambda g: F["mm"](_adjoint(a), g)), (a, b))


def reduced_mm(a, b, reduce):
    """CSR by dense: each element the sum, mean, maximum or minimum of the products of a row's values; zero for rows without any."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
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
    terms = values_of(a).unsqueeze(1) * b.index_select(0, a._index[1])
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
def mv(a, x, *, out=None):
    """A sparse matrix by a vector."""
    if a.dim() != 2 or x.dim() != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {a.dim()}Tensor Dim: {x.dim()}")
    if a.shape[1] != x.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    result = mm(plain(a), plain(x).unsqueeze(1)).squeeze(1)
    result = traced("MvBackward0", result, (a, x), (lambda g: F["outer"](g, conj(x)), lambda g: F["mv"](_adjoint(a), g)), (a, x))
    return delivered("mv", result, out)


@handles("bmm")
def bmm(a, b, *, out=None):
    """Batches of sparse matrices by dense ones."""
    if is_sparse(b):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense")
    if a._layout is not COO:
        raise NotImplementedError(f"torchshim: bmm of a tensor with layout {a._layout}")
    if a._index[0].shape[0] != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {a._index[0].shape[0]}")
    if a._vals.dim() != 1:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 0 dense dims, but has {a._vals.dim() - 1}")
    if b.dim() != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {b.dim()}")
    if a.shape[0] != b.shape[0]:
        raise RuntimeError("bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match")
    if a.shape[2] != b.shape[1]:
        raise RuntimeError("bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match")
    p, d = plain(a), plain(b)
    (k, n, m), width = p._ts_meta.shape, b.shape[2]
    batch, rows, columns = p._index[0]
    flat = made(COO, (F["stack"]([batch * n + rows, batch * m + columns]),), p._vals, (k * n, k * m))
    result = _by_dense(flat, d.reshape(k * m, width)).reshape(k, n, width)
    result = traced("BmmBackward0", result, (a, b),
                    (lambda g: g.bmm(conj(b).transpose(1, 2)), lambda g: F["bmm"](conj(F["transpose"](a, 1, 2)), g)), (a, b))
    return delivered("bmm", result, out)


@handles("matmul", "__matmul__", "__rmatmul__")
def matmul(a, b, *, out=None):
    """a @ b for matrices, and a matrix and a vector."""
    if a.dim() == 2 and b.dim() == 2:
        result = mm(a, b)
    elif a.dim() == 2 and b.dim() == 1:
        result = mv(a, b)
    elif a.dim() == 1 and b.dim() == 2:
        result = named(F["mm"](a.unsqueeze(0), b).squeeze(0), "SqueezeBackward4")
    elif a.dim() == 1 and b.dim() == 1:
        raise missing("dot", a if is_sparse(a) else b)
    else:
        raise RuntimeError(f"expand is unsupported for {NAMES[(a if is_sparse(a) else b)._layout.name]} tensors")
    return delivered("mm", result, out)


handles("__rmatmul__")(lambda a, b: matmul(b, a))


def _product_rows(name, a, b):
    """The rows of a COO matrix that hold anything, on the host, and those of its product with a dense one."""
    for number, x in ((2, a), (3, b)):
        if x.dim() != 2:
            raise RuntimeError(f"{name}: Argument #{number}: matrices expected, got {x.dim()}D tensor")
    if b.shape[0] != a.shape[1]:
        raise RuntimeError(f"{name}: Argument #3: Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.dtype is not b.dtype:
        raise RuntimeError("expected scalar type {} but found {}".format(*[c_name(x._ts_meta.dtype) for x in (a, b)]))
    a, b = coalesce(plain(a)), plain(b)
    where, columns = host(a._index[0])
    rows, to = np.unique(where, return_inverse=True)
    device = to_jax(a.device)
    total = F["zeros"]((len(rows), b.shape[1]), dtype=b.dtype, device=b.device)
    return rows, total.index_add(0, on(device, to.reshape(-1)), a._vals.unsqueeze(1) * b.index_select(0, on(device, columns)))


@handles("hspmm", "hsmm")
def hspmm(mat1, mat2, *, out=None):
    """The product of a sparse matrix and a dense one: sparse in its rows, which are dense."""
    if not is_sparse(mat1) or mat1._layout is not COO:
        backend = f"{NAMES[mat1._layout.name]}CPU" if is_sparse(mat1) else "CPU"
        raise NotImplementedError(f"Could not run 'aten::hspmm' with arguments from the '{backend}' backend.")
    if is_sparse(mat2):
        raise NotImplementedError("torchshim: hspmm of two sparse matrices")
    rows, vals = _product_rows("hspmm", mat1, mat2)
    index = on(to_jax(mat1.device), rows.astype(np.int64)[None])
    result = traced("NotImplemented", made(COO, (index,), vals, (mat1.shape[0], mat2.shape[1])), (mat1, mat2), (underivable("hspmm"),) * 2)
    return delivered("hspmm", result, out)


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
    made_of = traced("NotImplemented", made(COO, (index,), vals, input.shape), (input, mat1, mat2), (underivable("sspaddmm"),) * 3)
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


def _addmm(node, input, mat1, mat2, beta, alpha, masked):
    dense = not is_sparse(input)
    if dense and is_sparse(mat1) == is_sparse(mat2) and COO in (getattr(mat1, "_layout", None), getattr(mat2, "_layout", None)) or \
            dense and is_sparse(mat2) and mat2._layout is COO:
        names = [NAMES[x._layout.name] if is_sparse(x) else "Strided" for x in (mat1, mat2)]
        raise RuntimeError("addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1' "
                           f"with layout {names[0]} and 'mat2' with layout {names[1]}")
    if not dense and input._layout is COO:
        raise RuntimeError("addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse")
    _check(mat1, mat2)
    product = _mm(plain(mat1), plain(mat2))
    if dense:
        wide = plain(input).expand(mat1.shape[0], mat2.shape[1])
        if is_sparse(product):
            raise NotImplementedError("torchshim: addmm of a dense tensor and a sparse product")
    else:
        wide = plain(input)
    scaled = product if alpha == 1 else product * alpha
    result = scaled if beta == 0 else F["add"](wide if beta == 1 else wide * beta, scaled)
    more = [lambda g: F["mm"](g, _adjoint(mat2)) * conj(alpha), lambda g: F["mm"](_adjoint(mat1), g) * conj(alpha)]
    if masked:
        more = [_masked(x, f) for x, f in zip((mat1, mat2), more)]
    return traced(node, result, (input, mat1, mat2), (lambda g: g * conj(beta), *more), (mat1, mat2))


@handles("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * mat1 @ mat2."""
    return delivered("addmm", _addmm("AddmmBackward0", input, mat1, mat2, beta, alpha, False), out)


@handles("addmm_")
def addmm_(input, mat1, mat2, *, beta=1, alpha=1):
    """The same in place."""
    result = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return (write if is_sparse(input) else write_dense)(input, fitting("addmm", result, input))


def sparse_addmm(input, mat1, mat2, beta=1, alpha=1):
    """torch.sparse.addmm: as addmm, but a sparse matrix has its gradient where it has values."""
    if not is_sparse(mat1) and not is_sparse(mat2):
        return F["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)
    return _addmm("SparseAddmmBackward0", input, mat1, mat2, beta, alpha, True)


def sampled_addmm(input, mat1, mat2, beta=1, alpha=1, out=None):
    """alpha * (mat1 @ mat2) where the CSR matrix `input` has values, plus beta * input."""
    if not is_sparse(input) or input._layout is not CSR:
        if is_sparse(input) and input._layout is COO or not is_sparse(input):
            raise missing("sparse_sampled_addmm", input)
        raise RuntimeError(f"sampled_addmm: Expected self to have layout SparseCsr, but got {NAMES[input._layout.name]}")
    p = plain(input)
    product = sparse_mask(plain(mat1).matmul(plain(mat2)), p) * alpha
    result = product if beta == 0 else p * beta + product

    def kept(g):
        return g if is_sparse(g) else sparse_mask(g, p)
    result = traced("SparseSampledAddmmBackward0", result, (input, mat1, mat2),
                    (lambda g: g * conj(beta), lambda g: F["mm"](kept(g), _adjoint(mat2)) * conj(alpha),
                     lambda g: F["mm"](_adjoint(mat1), kept(g)) * conj(alpha)), (mat1, mat2))
    return delivered("addmm", result, out)


@handles("nn.functional.linear")
def linear(input, weight, bias=None):
    """input @ weight.T + bias with a sparse weight."""
    if is_sparse(input):
        raise NotImplementedError("torchshim: linear of a sparse input")
    flat = input.reshape(-1, input.shape[-1]) if input.dim() != 2 else input
    out = mm(flat, F["t"](weight))
    out = out if input.dim() == 2 else out.reshape(*input.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias
