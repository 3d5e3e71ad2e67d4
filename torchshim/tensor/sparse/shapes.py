"""Sparse tensors turned, cut and put together."""
from __future__ import annotations

import numpy as np

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from ..core.dtype import promote_types
from ..core.handle import TensorBase
from ..core.tensor import tensor_from
from .base import COO, handles, host, is_sparse, like, made, on, write
from .compressed import transposed
from .coo import to_coo
from .history import missing, of_dense, plain, traced


def wrapped(dim, n):
    """A dimension of `n`, counted from the front. IndexError for one that is not there."""
    most = max(n, 1)
    if not -most <= dim < most:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{most}, {most - 1}], but got {dim})")
    return dim % most


def _row_order(s, order):
    """The rows of a COO tensor's indices in another order."""
    index = s._index[0]
    return index[on(to_jax(s.device), np.array(order, np.int64))]


@handles("transpose", "swapaxes", "swapdims")
def transpose(s, dim0, dim1):
    """Two sparse dimensions exchanged."""
    n = s.dim()
    a, b = wrapped(dim0, n), wrapped(dim1, n)
    p = plain(s)
    if s._layout is not COO:
        out = transposed(p, a, b)
    elif a == b:
        return s
    else:
        dims = s._index[0].shape[0]
        if max(a, b) >= dims:
            raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {dims}, d0: {a}, d1: {b}")
        out = _permuted(p, [b if d == a else a if d == b else d for d in range(n)])
        out._coalesced = p._coalesced and not p._vals.shape[0]
    return traced("TransposeBackward0", out, (s,), (lambda g: F["transpose"](g, dim0, dim1),))


def _permuted(s, order):
    dims, n = s._index[0].shape[0], s.dim()
    if order == list(range(n)):
        return s
    vals = s._vals if order[dims:] == list(range(dims, n)) else s._vals.permute(0, *[d - dims + 1 for d in order[dims:]])
    index = s._index[0] if order[:dims] == list(range(dims)) else _row_order(s, order[:dims])
    return like(s, vals, (index,), [s._ts_meta.shape[d] for d in order], s._coalesced and index is s._index[0])


@handles("transpose_", "swapaxes_", "swapdims_")
def transpose_(s, dim0, dim1):
    return write(s, transpose(s, dim0, dim1))


@handles("t")
def t(s):
    """A matrix transposed; a vector as it is."""
    held = s._vals.dim() - 1 if s._layout is COO else 0
    if s.dim() - held > 2 or held:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {s.dim() - held} sparse and {held} "
                           "dense dimensions")
    if s.dim() < 2:
        return s
    out = transpose(plain(s), 0, 1)
    return traced("TBackward0", out, (s,), (lambda g: F["t"](g),))


@handles("t_")
def t_(s):
    return write(s, t(s))


@handles("permute")
def permute(s, *order, dims=None):
    """The dimensions in another order; sparse ones stay before dense ones."""
    order = dims if dims is not None else order[0] if len(order) == 1 and not isinstance(order[0], int) else order
    if s._layout is not COO:
        raise missing("as_strided", s)
    n, held = s.dim(), s._index[0].shape[0]
    if len(order) != n:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(order)}")
    first, order = not n or order[0] == 0, [wrapped(d, n) for d in order]
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if sorted(order[:held]) != list(range(held)):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions "
                           "within sparse and dense dimensions are supported.")
    back = [order.index(d) for d in range(n)]
    p = plain(s)
    out = _permuted(p, order)
    out = plain(p) if out is p else out
    out._coalesced = p._coalesced and first    # torch looks at nothing else, and at that as it is given
    return traced("PermuteBackward0", out, (s,), (lambda g: F["permute"](g, back),))


@handles("movedim", "moveaxis")
def movedim(s, source, destination):
    """Dimensions moved to other places, the others in their order."""
    n = s.dim()
    source, destination = [[wrapped(d, n) for d in ((x,) if isinstance(x, int) else x)] for x in (source, destination)]
    rest = iter([d for d in range(n) if d not in source])
    return permute(s, [source[destination.index(d)] if d in destination else next(rest) for d in range(n)])


@handles("T")
def reverse(s):
    """All dimensions in reverse order."""
    return permute(s, *range(s.dim() - 1, -1, -1))


@handles("mT")
def mT(s):
    """The last two dimensions exchanged."""
    if s.dim() < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {s.dim()}-D tensor.")
    return transpose(s, -2, -1)


@handles("H", "mH", "adjoint")
def adjoint(s):
    """The last two dimensions exchanged, conjugated."""
    y = mT(s)
    return y.conj() if y.is_complex() else y


@handles("unsqueeze")
def unsqueeze(s, dim):
    """A dimension of size 1 more."""
    if s._layout is not COO:
        raise RuntimeError(f"Sparse {s._layout.name.rpartition('_')[2].upper()} tensors do not have strides")
    n, dims = s.dim(), s._index[0].shape[0]
    dim = wrapped(dim, n + 1)
    shape = list(s._ts_meta.shape)
    shape.insert(dim, 1)
    p = plain(s)
    if dim > dims:
        out = like(p, p._vals.unsqueeze(dim - dims + 1), None, shape)
    else:
        index = p._index[0]
        zeros = F["zeros"]((1, index.shape[1]), dtype=index.dtype, device=index.device)
        out = like(p, p._vals, (F["cat"]([index[:dim], zeros, index[dim:]]),), shape, False)
    return traced("UnsqueezeBackward0", out, (s,), (of_dense("as_strided", lambda g: g.squeeze(dim)),))


@handles("unsqueeze_")
def unsqueeze_(s, dim):
    return write(s, unsqueeze(s, dim))


@handles("cat", "concat", "concatenate")
def cat(tensors, dim=0, *, out=None):
    """Tensors of the same layout behind each other."""
    tensors = list(tensors)
    for k, x in enumerate(tensors):
        if is_sparse(x) and x._layout is not COO:
            raise RuntimeError(f"Sparse {x._layout.name.rpartition('_')[2].upper()} tensors do not have is_contiguous")
        if not is_sparse(x):
            if k == 0:
                raise missing("_values", x)
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {k}.")
    first = tensors[0]
    dims, n = first._index[0].shape[0], first.dim()
    dim, kept = wrapped(dim, n), first._ts_meta.shape
    for k, x in enumerate(tensors):
        shape = x._ts_meta.shape
        if len(shape) != n or any([a != b for d, (a, b) in enumerate(zip(shape, kept)) if d != dim]):
            raise RuntimeError(f"All tensors must have the same shape: {list(kept)} (except in the concatenating dimension), but found "
                               f"shape: {list(shape)} at position {k}.")
        if x._index[0].shape[0] != dims:
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {dims}, {n - dims}, but tensor at position {k} "
                               f"has {x._index[0].shape[0]}, {n - x._index[0].shape[0]}.")
    sizes = [x._ts_meta.shape[dim] for x in tensors]
    starts, total = [sum(sizes[:k]) for k in range(len(sizes))], sum(sizes)
    shape = [total if d == dim else m for d, m in enumerate(kept)]
    parts = [plain(x) for x in tensors]
    dtype = parts[0].dtype
    for x in parts[1:]:
        dtype = promote_types(dtype, x.dtype)
    index, vals = [], []
    for x, start in zip(parts, starts):
        if dim < dims:
            shift = np.zeros((dims, 1), np.int64)
            shift[dim] = start
            index.append(x._index[0] + tensor_from(shift, to_jax(x.device)))
            vals.append(x._vals.to(dtype))
        else:
            d = dim - dims + 1
            before, after = [F["zeros"]([m if k != d else size for k, m in enumerate(x._vals.shape)], dtype=dtype, device=x.device)
                             for size in (start, total - start - x._vals.shape[d])]
            index.append(x._index[0])
            vals.append(F["cat"]([before, x._vals.to(dtype), after], d))
    made_of = made(COO, (F["cat"](index, 1),), F["cat"](vals), shape)
    made_of = traced("CatBackward0", made_of, tensors, [_stretch(dim, a, m) for a, m in zip(starts, sizes)])
    return made_of if out is None else write(out, made_of)


def _stretch(dim, start, size):
    return of_dense("as_strided", lambda g: g.narrow(dim, start, size))


@handles("stack")
def stack(tensors, dim=0, *, out=None):
    """Tensors of the same shape in a new dimension."""
    tensors = list(tensors)
    dim = wrapped(dim, tensors[0].dim() + 1)
    for k, x in enumerate(tensors):
        if tuple(x.shape) != tuple(tensors[0].shape):
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                               f"{list(x.shape)} at entry {k}")
    made_of = cat([unsqueeze(plain(x), dim) if is_sparse(x) else x.unsqueeze(dim) for x in tensors], dim)
    made_of = traced("StackBackward0", made_of, tensors, [_part(dim, k) for k in range(len(tensors))])
    return made_of if out is None else write(out, made_of)


def _part(dim, k):
    return lambda g: F["select"](g, dim, k)


def _chosen(s, dim, wanted):
    """The parts of a COO tensor at `wanted`, host numbers that are there, of a sparse dimension: (indices on the host, which values)."""
    where = host(s._index[0])
    order = np.argsort(where[dim], kind="stable")
    low, high = [np.searchsorted(where[dim][order], wanted, side) for side in ("left", "right")]
    chosen = np.concatenate([order[a:b] for a, b in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    new = where[:, chosen].copy()
    new[dim] = np.repeat(np.arange(len(wanted)), high - low)
    return new, chosen


@handles("index_select")
def index_select(s, dim, index):
    """The parts at `index` of a dimension."""
    if not is_sparse(s) or is_sparse(index) or index.dim() != 1 or index.dtype.name != "int64":
        raise IndexError("index_select() argument index must be 1-D strided (non-sparse) long-tensor.")
    if s._layout is not COO:
        raise missing("index_select", s)
    dims, shape = s._index[0].shape[0], list(s._ts_meta.shape)
    dim = wrapped(dim, len(shape))
    if not len(shape):
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    n, wanted, p = shape[dim], host(index), plain(s)
    for k in wanted[(wanted < -n) | (wanted >= n)][:1]:
        raise IndexError(f"index_select(): index contains {k} that is out of range for tensor of size {shape} at dimension {dim}")
    shape[dim] = len(wanted)
    if dim >= dims:
        out = like(p, p._vals.index_select(dim - dims + 1, index % n if len(wanted) else index), None, shape)
    else:
        new, chosen = _chosen(p, dim, wanted % n if len(wanted) else wanted)
        device = to_jax(s.device)
        out = made(COO, (on(device, new),), p._vals[on(device, chosen)], shape)
    whole = tuple(s.shape)
    return traced("IndexSelectBackward0", out, (s,), (of_dense("index_add_", lambda g: g.new_zeros(whole).index_add(dim, index, g)),))


def _select(s, dim, index):
    """One part of a dimension, without history; dense where no sparse dimension is left."""
    s = to_coo(s)
    dims, rest = s._index[0].shape[0], [m for d, m in enumerate(s._ts_meta.shape) if d != dim]
    if dim >= dims:
        return like(s, s._vals.select(dim - dims + 1, index), None, rest)
    where, device = host(s._index[0]), to_jax(s.device)
    chosen = np.flatnonzero(where[dim] == index)
    vals = s._vals[on(device, chosen)]
    if dims == 1:
        return vals.sum(0, dtype=vals.dtype) if vals.dtype.name != "bool" else vals.any(0)
    return made(COO, (on(device, np.ascontiguousarray(np.delete(where, dim, 0)[:, chosen])),), vals, rest)


@handles("select")
def select(s, dim, index):
    """One part of a dimension, which is gone then; a dense number where no sparse dimension is left."""
    whole = tuple(s.shape)
    if not whole:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrapped(dim, len(whole))
    n = whole[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(whole)} at dimension {dim}")
    out = _select(plain(s), dim, index % n)
    if s._layout is not COO and is_sparse(out):
        out._coalesced = True

    def gradient(g):
        return F["select_scatter"](g.new_zeros(whole), g, dim, index)
    return traced("SelectBackward0", out, (s,), (of_dense("select_backward", gradient),))


@handles("unbind")
def unbind(s, dim=0):
    """The parts of a dimension."""
    whole = tuple(s.shape)
    dim = wrapped(dim, len(whole))
    p = plain(s)
    outs = tuple([select(p, dim, k) for k in range(whole[dim])])

    def gradient(gs):
        for g in gs:
            if g is not None and is_sparse(g):
                raise RuntimeError("expand is unsupported for Sparse tensors")
        some = next(g for g in gs if g is not None)
        return F["stack"]([F["zeros_like"](some) if g is None else g for g in gs], dim)
    return traced("UnbindBackward0", outs, (s,), (gradient,))


handles("__iter__")(lambda s: iter(unbind(s)))


@handles("narrow_copy")
def narrow_copy(s, dim, start, length):
    """A stretch of a dimension."""
    if s._layout is not COO:
        raise RuntimeError(f"Sparse {s._layout.name.rpartition('_')[2].upper()} tensors do not have strides")
    shape = list(s._ts_meta.shape)
    if not 0 <= dim < len(shape):
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {len(shape)}.")
    n = shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if start < 0 or start + length > n:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {n}).")
    p, dims = plain(s), s._index[0].shape[0]
    shape[dim] = length
    if dim >= dims:
        out = like(p, p._vals.narrow(dim - dims + 1, start, length).clone(), None, shape)
    else:
        where, device = host(p._index[0]), to_jax(s.device)
        chosen = np.flatnonzero((where[dim] >= start) & (where[dim] < start + length))
        new = where[:, chosen].copy()
        new[dim] -= start
        out = made(COO, (on(device, new),), p._vals[on(device, chosen)], shape, p._coalesced)
    whole = tuple(s.shape)

    def gradient(g):
        return F["slice_scatter"](g.new_zeros(whole), g, dim, start, start + length)
    return traced("NarrowCopyBackward0", out, (s,), (of_dense("as_strided", gradient),))


@handles("__setitem__")
def setitem(s, key, value):
    """Nothing can be assigned to parts: TypeError."""
    raise TypeError("Cannot assign to a sparse tensor")


@handles("__getitem__")
def getitem(s, key):
    """s[i], s[i, j], s[:, j], s[None]: integers, whole slices and new dimensions."""
    key = key if isinstance(key, tuple) else (key,)
    taken = sum([k is not None and k is not Ellipsis for k in key])
    if taken > s.dim():
        raise IndexError(f"too many indices for tensor of dimension {s.dim()}")
    out, dim = s, 0
    for at, k in enumerate(key):
        if not is_sparse(out):
            return out[(slice(None),) * dim + key[at:]]
        if isinstance(k, slice) and k == slice(None):
            dim += 1
        elif (isinstance(k, TensorBase) and not is_sparse(k) and k.dim() == 0
                and c_name(k._ts_meta.dtype) not in ("Bool", "Float", "Double")):
            out = select(out, dim, int(k))
        elif isinstance(k, int) and not isinstance(k, bool):
            if not -out.shape[dim] <= k < out.shape[dim]:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {out.shape[dim]}")
            out = select(out, dim, k)
        elif k is None:
            out = unsqueeze(out, dim)
            dim += 1
        elif k is Ellipsis:
            dim += s.dim() - taken
        elif isinstance(k, slice):
            raise missing("as_strided", out)
        else:
            raise missing("index.Tensor", out)
    return out
