"""Coordinate tensors: how they are made, coalesced, cut and put together."""
from __future__ import annotations

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core import settings
from ..core.device import to_jax
from ..core.dtype import FROM_NP
from ..core.tensor import Tensor, tensor_from
from .base import COO, NAMES, from_parts, handles, host, is_sparse, like, made, named, on, private


def sparse_coo_tensor(indices, values=None, size=None, dtype=None, device=None, requires_grad=False, check_invariants=None,
                      is_coalesced=None):
    """A tensor that holds `values` at `indices`, (sparse dimensions, n), and zeros elsewhere; values at the same place are added.

    size: the shape, or else the smallest that fits. Raises RuntimeError where the parts do not fit together.
    """
    if values is None:                         # sparse_coo_tensor(size)
        size = indices if size is None else size
        dense = F["zeros"]((0,), dtype=dtype, device=device)
        return made(COO, (F["zeros"]((len(size), 0), dtype=FROM_NP[np.dtype(np.int64)], device=device),), dense, size, True, requires_grad)
    indices = indices if isinstance(indices, Tensor) else F["tensor"](indices, device=device)
    values = values if isinstance(values, Tensor) else F["tensor"](values, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    indices = indices.to(device=values.device, dtype=FROM_NP[np.dtype(np.int64)])
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    n, dims = indices.shape[1], indices.shape[0]
    if values.dim() == 0 or values.shape[0] != n:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {n}, nnz from values: "
                           f"{values.shape[0] if values.dim() else 0}")
    if size is None:
        where = host(indices)
        if not n:
            raise RuntimeError("cannot infer the size of a sparse tensor without values")
        if where.min(initial=0) < 0:
            raise RuntimeError(f"found negative index {where.min()} for dim {where.min(1).argmin()}")
        size = [int(k) + 1 for k in where.max(1)] + list(values.shape[1:])
    size = tuple(size)
    if len(size) != dims + values.dim() - 1:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({dims}) + dense_dim ({values.dim() - 1}), but got {len(size)}")
    if tuple(values.shape[1:]) != size[dims:]:
        raise RuntimeError(f"values has incorrect size, expected {[n, *size[dims:]]}, got {list(values.shape)}")
    if settings.checks_sparse(check_invariants) and n:
        where = host(indices)
        for d in range(dims):
            if where[d].min() < 0:
                raise RuntimeError(f"found negative index {where[d].min()} for dim {d}")
            if where[d].max() >= size[d]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {where[d].max()}")
    return from_parts(COO, (indices,), values, size, bool(is_coalesced), requires_grad, "SparseCooTensorWithDimsAndTensorsBackward0")


def to_coo(x):
    """Any tensor as coordinates; a dense one without its zeros."""
    if not is_sparse(x):
        return from_dense(x)
    if x._layout is COO:
        return x
    from .compressed import coordinates
    return coordinates(x)


def from_dense(x, dims=None):
    """The elements of a dense tensor that are not zero, or its parts that are not where only the first `dims` dimensions are sparse."""
    dims = x.dim() if dims is None else dims
    if not 0 < dims <= x.dim() and x.dim():
        raise RuntimeError(f"sparse_dim argument must be in [1,{x.dim()}] range, but {dims} is given")
    nonzero = host(x.detach()) != 0
    where = np.stack(np.nonzero(nonzero.any(tuple(range(dims, x.dim()))) if dims < x.dim() else nonzero)).astype(np.int64)
    index = on(to_jax(x.device), where)
    return made(COO, (index,), x[tuple(index)] if dims else x.reshape(1), x.shape, True)


def _places(s):
    """The indices of a COO tensor as single numbers, on the host."""
    where = host(s._index[0])
    return np.ravel_multi_index(tuple(where), s._ts_meta.shape[:len(where)]) if len(where) else np.zeros(where.shape[1], np.int64)


def gathered(s, places, vals, shape=None, index_shape=None):
    """A coalesced COO tensor: `vals` added up by `places`, single numbers in `index_shape`."""
    shape = s._ts_meta.shape if shape is None else shape
    index_shape = shape[:s._index[0].shape[0]] if index_shape is None else index_shape
    kept, to = np.unique(places, return_inverse=True)
    device = to_jax(vals.device)
    where = np.stack(np.unravel_index(kept, index_shape)) if index_shape else np.zeros((0, len(kept)))
    index = on(device, where.astype(np.int64).reshape(len(index_shape), len(kept)))
    if len(kept) == len(places):
        order = np.argsort(places, kind="stable")
        vals = vals if (order[:-1] < order[1:]).all() else vals[on(device, order)]
    else:
        total = F["zeros"]((len(kept), *vals.shape[1:]), dtype=vals.dtype, device=vals.device)
        vals = total.index_add(0, on(device, to.reshape(-1).astype(np.int64)), vals)
    return made(COO, (index,), vals, shape, True)


@handles("coalesce")
def coalesce(s):
    """The same tensor with each place once, in order."""
    _expect(s, "coalesce")
    return s if s._coalesced else named(gathered(s, _places(s), s._vals.view_as(s._vals)), "CoalesceBackward0")


def _expect(s, name):
    if s._layout is not COO:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {NAMES[s._layout.name]}")


@handles("is_coalesced")
def is_coalesced(s):
    """Whether each place is there once, in order."""
    _expect(s, "is_coalesced")
    return s._coalesced


@private
def _coalesced_(s, coalesced):
    s._coalesced = coalesced
    return s


@handles("indices")
def indices(s):
    """Where the values of a coalesced tensor lie."""
    _expect(s, "indices")
    if not s._coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return s._index[0]


@private
def _indices(s):
    _expect(s, "_indices")
    return s._index[0]


@handles("values")
def values(s):
    """The values, with their history."""
    if s._layout is COO and not s._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return s._vals.detach() if s._leaf and not s._vals.requires_grad else s._vals


@private
def _values(s):
    return s._vals.detach()


@handles("sparse_dim")
def sparse_dim(s):
    """How many dimensions the indices speak of."""
    return s._index[0].shape[0] if s._layout is COO else 2


@handles("dense_dim")
def dense_dim(s):
    """How many dimensions each value has."""
    return s._vals.dim() - (1 if s._layout is COO else 3 if "bs" in s._layout.name else 1)


@handles("to_dense", "to_sparse_dense")
def to_dense(s, dtype=None, *, masked_grad=None):
    """The dense tensor."""
    if s._layout is not COO:
        s = to_coo(s)
    vals = s._vals
    if s._index[0].shape[0]:
        base = F["zeros"](s._ts_meta.shape, dtype=vals.dtype, device=vals.device)
        out = base.index_put(tuple(s._index[0]), vals, accumulate=vals.dtype.name != "bool")
    else:
        out = vals.sum(0)
    return named(out, "ToDenseBackward0") if dtype is None else named(out, "ToDenseBackward0").to(dtype)


@handles("t", "t_")
def t(s):
    """A matrix transposed; a vector as it is."""
    if s.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {s.sparse_dim()} sparse and "
                           f"{s.dense_dim()} dense dimensions")
    return transpose(s, 0, s.dim() - 1) if s.dim() else s


@handles("T")
def reverse(s):
    """All dimensions in reverse order."""
    return transpose(s) if s.dim() == 2 else permute(s, *range(s.dim() - 1, -1, -1))


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
    return like(y, y._vals.conj(), y._index, y._ts_meta.shape, y._coalesced) if y.is_complex() else y


@handles("swapaxes", "transpose", "transpose_", "swapdims")
def transpose(s, dim0=0, dim1=1):
    """Two dimensions exchanged."""
    if s._layout is not COO:
        from .compressed import transposed
        return transposed(s, dim0, dim1)
    n = s.dim()
    a, b = sorted((dim0 % n, dim1 % n))
    if a == b:
        return s
    order = list(range(n))
    order[a], order[b] = b, a
    return permute(s, order)


@handles("permute")
def permute(s, *order):
    """The dimensions in another order; sparse ones stay before dense ones."""
    order = order[0] if len(order) == 1 and not isinstance(order[0], int) else order
    dims, n = s._index[0].shape[0], s.dim()
    order = [d % n for d in order]
    if sorted(order[:dims]) != list(range(dims)):
        raise RuntimeError("transpose: permuting sparse and dense dimensions with each other is not supported")
    vals = s._vals if order[dims:] == list(range(dims, n)) else s._vals.permute(0, *[d - dims + 1 for d in order[dims:]])
    index = s._index[0][on(to_jax(s.device), np.array(order[:dims], np.int64))]
    return like(s, vals, (index,), [s._ts_meta.shape[d] for d in order], False)


@handles("unsqueeze")
def unsqueeze(s, dim):
    """A dimension of size 1 more."""
    n, dims = s.dim(), s._index[0].shape[0]
    dim %= n + 1
    shape = list(s._ts_meta.shape)
    shape.insert(dim, 1)
    if dim > dims:
        return like(s, s._vals.unsqueeze(dim - dims + 1), None, shape)
    index = s._index[0]
    zeros = F["zeros"]((1, index.shape[1]), dtype=index.dtype, device=index.device)
    return like(s, s._vals, (F["cat"]([index[:dim], zeros, index[dim:]]),), shape)


@handles("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    """Tensors of the same layout behind each other."""
    if not all([is_sparse(t) and t._layout is COO for t in tensors]):
        raise RuntimeError("Concatenating sparse tensors, but a non-COO tensor was found: torchshim does not mix layouts")
    first = tensors[0]
    dims, n = first._index[0].shape[0], first.dim()
    dim %= n
    for k, t in enumerate(tensors):
        if t._index[0].shape[0] != dims or any(a != b for d, (a, b) in enumerate(zip(t._ts_meta.shape, first._ts_meta.shape)) if d != dim):
            raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found "
                               f"shape: {list(t.shape)} at {k}")
    shape = list(first._ts_meta.shape)
    shape[dim] = sum([t._ts_meta.shape[dim] for t in tensors])
    if dim >= dims:
        raise NotImplementedError("torchshim: cat of sparse tensors along a dense dimension")
    index, offset = [], 0
    for t in tensors:
        shift = np.zeros((dims, 1), np.int64)
        shift[dim] = offset
        index.append(t._index[0] + tensor_from(shift, to_jax(t.device)))
        offset += t._ts_meta.shape[dim]
    return made(COO, (F["cat"](index, 1),), F["cat"]([t._vals for t in tensors]), shape, False)


@handles("stack")
def stack(tensors, dim=0):
    """Tensors of the same shape in a new dimension."""
    return cat([unsqueeze(t, dim) for t in tensors], dim)


@handles("index_select")
def index_select(s, dim, index):
    """The parts at `index` of a dimension."""
    s = to_coo(s)
    dims = s._index[0].shape[0]
    dim %= s.dim()
    shape = list(s._ts_meta.shape)
    shape[dim] = index.shape[0]
    if dim >= dims:
        return like(s, s._vals.index_select(dim - dims + 1, index), None, shape)
    where, wanted = host(s._index[0]), host(index)
    order = np.argsort(where[dim], kind="stable")
    low, high = (np.searchsorted(where[dim][order], wanted, side) for side in ("left", "right"))
    chosen = np.concatenate([order[a:b] for a, b in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    new = where[:, chosen].copy()
    new[dim] = np.repeat(np.arange(len(wanted)), high - low)
    device = to_jax(s.device)
    return made(COO, (on(device, new),), s._vals[on(device, chosen)], shape, s._coalesced and dim == 0)


@handles("select")
def select(s, dim, index):
    """One part of a dimension, which is gone then; a dense number where no sparse dimension is left."""
    s = to_coo(s)
    dim %= s.dim()
    n = s._ts_meta.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(s.shape)} at dimension {dim}")
    dims = s._index[0].shape[0]
    if dim >= dims:
        return like(s, s._vals.select(dim - dims + 1, index), None, [m for d, m in enumerate(s._ts_meta.shape) if d != dim])
    part = index_select(s, dim, tensor_from(np.array([index % n])))
    if dims == 1:
        return part._vals.sum(0)
    keep = on(to_jax(s.device), np.array([d for d in range(dims) if d != dim], np.int64))
    return made(COO, (part._index[0][keep],), part._vals, [m for d, m in enumerate(s._ts_meta.shape) if d != dim], s._coalesced)


@handles("unbind")
def unbind(s, dim=0):
    """The parts of a dimension."""
    return tuple([select(s, dim, k) for k in range(s._ts_meta.shape[dim])])


@handles("narrow_copy")
def narrow_copy(s, dim, start, length):
    """A stretch of a dimension."""
    n = s._ts_meta.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if start < 0 or start + length > n:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {n}).")
    return index_select(s, dim, tensor_from(np.arange(start, start + length)))


@handles("__setitem__")
def setitem(s, key, value):
    """Nothing can be assigned to parts: TypeError."""
    raise TypeError("Cannot assign to a sparse tensor")


@handles("__getitem__")
def getitem(s, key):
    """s[i], s[i, j], s[:, j]: integers and whole slices."""
    key = key if isinstance(key, tuple) else (key,)
    out, dim = s, 0
    for k in key:
        if isinstance(k, slice) and k == slice(None):
            dim += 1
        elif isinstance(k, int) and not isinstance(k, bool):
            if not is_sparse(out):
                return out[key[dim:]]
            out = select(out, dim, k)
        elif k is not Ellipsis or k is not key[-1]:
            raise NotImplementedError("torchshim: indexing a sparse tensor with anything but integers and whole slices")
    return out


@handles("sparse_mask")
def sparse_mask(x, mask):
    """A dense tensor's values where a sparse one has some."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask expected a sparse mask")
    if is_sparse(x):
        x = to_dense(x)
    if tuple(x.shape) != mask._ts_meta.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(x.shape)} but mask has size "
                           f"{list(Tensor.size(mask))}")
    if mask._layout is COO:
        return like(mask, x[tuple(mask._index[0])])
    from .compressed import compress
    return compress(sparse_mask(x, to_coo(mask)), mask._layout)


@private
def _nnz(s):
    """How many values there are."""
    return s._vals.shape[0]


@handles("to_sparse", "to_sparse_coo")
def to_sparse(x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor in a sparse layout: coordinates, unless another one is named."""
    if layout is not None and layout is not COO:
        from .compressed import compress
        return compress(x, layout, blocksize)
    if blocksize is not None or dense_dim is not None:
        raise NotImplementedError("torchshim: to_sparse(blocksize or dense_dim) for coordinates")
    if is_sparse(x):
        if sparse_dim is not None and sparse_dim != x.sparse_dim():
            raise NotImplementedError("torchshim: another sparse_dim of a sparse tensor")
        return to_coo(x)
    return from_dense(x, sparse_dim)




