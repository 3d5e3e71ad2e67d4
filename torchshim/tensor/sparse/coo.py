"""Coordinate tensors: how they are made, coalesced, and turned from and into dense ones."""
from __future__ import annotations

import math

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core import settings
from ..core.device import to_jax
from ..core.dtype import FROM_NP
from ..core.handle import TensorBase
from .base import COO, NAMES, handles, host, is_sparse, like, made, on, private
from .history import plain, traced

INT64 = FROM_NP[np.dtype(np.int64)]


def sparse_coo_tensor(indices, values=None, size=None, dtype=None, device=None, requires_grad=False, check_invariants=None,
                      is_coalesced=None):
    """A tensor that holds `values` at `indices`, (sparse dimensions, n), and zeros elsewhere; values at the same place are added.

    size: the shape, or else the smallest that fits. Raises RuntimeError where the parts do not fit together.
    """
    if values is None and indices is None and size is None:
        raise TypeError("sparse_coo_tensor() received an invalid combination of arguments - got (), but expected one of:\n * (object "
                        "indices, object values, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, bool "
                        "requires_grad = False, bool check_invariants = None, bool is_coalesced = None)\n * (object indices, object "
                        "values, tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, "
                        "bool requires_grad = False, bool check_invariants = None, bool is_coalesced = None)\n * (tuple of ints size, *, "
                        "torch.dtype dtype = None, torch.device device = None, bool requires_grad = False, bool check_invariants = None)\n")
    if values is None:                         # sparse_coo_tensor(size)
        size = tuple(indices if size is None else size)
        if any([n < 0 for n in size]):
            raise RuntimeError("numel: integer multiplication overflow")
        return wanting(empty_coo(size, len(size), dtype, device), requires_grad)
    indices = indices if isinstance(indices, TensorBase) else F["tensor"](indices, device=device)
    values = values if isinstance(values, TensorBase) else F["tensor"](values, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
    values = values.reshape(1) if values.dim() == 0 else values
    indices = indices.detach().to(device=values.device, dtype=INT64)
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    n, dims = indices.shape[1], indices.shape[0]
    if values.shape[0] != n:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {n}, nnz from values: {values.shape[0]}")
    if size is None:
        where = host(indices)
        if where.min(initial=0) < 0:
            raise RuntimeError(f"found negative index {where.min()} for dim {where.min(1).argmin()}")
        size = [int(k) + 1 for k in where.max(1, initial=-1)] + list(values.shape[1:])
    size = tuple(size)
    if len(size) != dims + values.dim() - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {dims}, "
                           f"dense_dim = {values.dim() - 1}")
    if tuple(values.shape[1:]) != size[dims:]:
        raise RuntimeError(f"values has incorrect size, expected {[n, *size[dims:]]}, got {list(values.shape)}")
    if math.prod(size) >= 2 ** 63:
        raise RuntimeError("numel: integer multiplication overflow")
    if not values.is_meta and n and settings.checks_sparse(check_invariants):
        where = host(indices)
        for d in range(dims):
            if where[d].min() < 0:
                raise RuntimeError(f"found negative index {where[d].min()} for dim {d}")
            if where[d].max() >= size[d]:
                raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {where[d].max()}")
        places = list(zip(*where.tolist()))
        if is_coalesced and any([a >= b for a, b in zip(places, places[1:])]):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    if requires_grad:
        return wanting(made(COO, (indices,), values.detach(), size, is_coalesced), True)
    return built(indices, values, size, is_coalesced)


def wanting(s, requires_grad):
    """What a factory made, as a leaf that wants a gradient if that was asked for."""
    if not requires_grad:
        return s
    if not (s.is_floating_point() or s.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return s._ts_ask_for_grad()


def empty_coo(size, dims, dtype=None, device=None):
    """Coordinates without values; the first `dims` dimensions are sparse."""
    vals = F["zeros"]((0, *size[dims:]), dtype=dtype, device=device)
    return made(COO, (F["zeros"]((dims, 0), dtype=INT64, device=device),), vals, size, True)


def built(index, vals, shape, coalesced=None, name="SparseCooTensorWithDimsAndTensorsBackward0"):
    """Coordinates whose history begins at their values."""
    s = made(COO, (index,), vals.detach(), shape, coalesced)
    return traced(name, s, (vals,), (lambda g: at(g, plain(s)),)) if vals.requires_grad else s


def to_coo(x):
    """Any tensor as coordinates; a dense one without its zeros."""
    return to_sparse(x)


def from_dense(x, dims=None):
    """The elements of a dense tensor that are not zero, or its parts that are not where only the first `dims` dimensions are sparse."""
    n = x.dim()
    dims = n if dims is None else dims
    if not min(1, n) <= dims <= n:
        raise RuntimeError(f"sparse_dim argument must be in [{min(1, n)},{n}] range, but {dims} is given")
    x = plain(x)
    nonzero = np.atleast_1d(host(x).astype(bool) if x.dtype.name == "bool" else host(x) != 0)
    if not n:
        where = np.zeros((0, int(nonzero.sum())), np.int64)
        return made(COO, (on(to_jax(x.device), where),), x.reshape(1)[:where.shape[1]], x.shape, True)
    where = np.stack(np.nonzero(nonzero.any(tuple(range(dims, n))) if dims < n else nonzero)).astype(np.int64)
    index = on(to_jax(x.device), where)
    return made(COO, (index,), x[tuple(index)], x.shape, True)


def places(where, shape):
    """Indices, an array (dimensions, n), as single numbers in `shape`."""
    return np.ravel_multi_index(tuple(where), shape) if len(where) and where.size else np.zeros(where.shape[1], np.int64)


def own_places(s):
    """Those of a COO tensor's values."""
    where = host(s._index[0])
    return places(where, s._ts_meta.shape[:len(where)])


def gathered(at_places, vals, index_shape):
    """(indices, values): `vals` added up by places, single numbers in `index_shape`, in order."""
    kept, to = np.unique(at_places, return_inverse=True)
    device = to_jax(vals.device)
    where = np.stack(np.unravel_index(kept, index_shape)) if index_shape and len(kept) else np.zeros((len(index_shape), len(kept)))
    index = on(device, where.astype(np.int64).reshape(len(index_shape), len(kept)))
    if len(kept) == len(at_places):
        order = np.argsort(at_places, kind="stable")
        return index, vals if (order[:-1] < order[1:]).all() else vals[on(device, order)]
    to = on(device, to.reshape(-1).astype(np.int64))
    if vals.dtype.name == "bool":
        counts = F["zeros"]((len(kept), *vals.shape[1:]), dtype=INT64, device=vals.device)
        return index, counts.index_add(0, to, vals.to(INT64)) > 0
    total = F["zeros"]((len(kept), *vals.shape[1:]), dtype=vals.dtype, device=vals.device)
    return index, total.index_add(0, to, vals)


@handles("coalesce")
def coalesce(s):
    """The same tensor with each place once, in order."""
    _expect(s, "coalesce")
    if s._coalesced:
        return s
    if s.is_meta:
        out = like(s, s._vals.clone(), [s._index[0].clone()], coalesced=True)
    else:
        index, vals = gathered(own_places(s), s._vals, s._ts_meta.shape[:s._index[0].shape[0]])
        out = made(COO, (index,), vals, s._ts_meta.shape, True)
    return traced("CoalesceBackward0", out, (s,), (lambda g: g,))


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
    return s._index[0].detach()


@private
def _indices(s):
    _expect(s, "_indices")
    return s._index[0].detach()


@handles("values")
def values(s):
    """The values, with their history."""
    if s._layout is COO and not s._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return values_of(s)


def values_of(s):
    """The values as they are, with their history: its gradient is one of the same indices."""
    p = plain(s)

    def gradient(g):
        kept = not g.is_contiguous()           # the gradient of a sum is kept as it is, and known as coalesced
        laid = made(p._layout, p._index, g.detach(), p._ts_meta.shape, kept or None)
        laid.__dict__["_held"] = kept
        return traced("SparseCooTensorUnsafeBackward0", laid, (g,), (lambda gg: at(gg, p),))
    return traced("ValuesBackward0", s._vals.detach(), (s,), (gradient,))


@private
def _values(s):
    if s._layout is not COO:
        from .history import missing
        raise missing("_values", s)
    return s._vals.detach()


@private
def _dimI(s):
    return sparse_dim(s)


@private
def _dimV(s):
    return dense_dim(s)


@handles("sparse_dim")
def sparse_dim(s):
    """How many dimensions the indices speak of."""
    return s._index[0].shape[0] if s._layout is COO else 2


@handles("dense_dim")
def dense_dim(s):
    """How many dimensions each value has."""
    from .compressed import held_dims
    return held_dims(s)


@handles("to_dense", "to_sparse_dense")
def to_dense(s, dtype=None, *, masked_grad=None):
    """The dense tensor. masked_grad: whether its gradient counts only where there are values (it does unless told otherwise)."""
    if dtype is not None:
        raise RuntimeError(f"dtype argument is not supported by sparse{'' if s._layout is COO else '_csr'}_to_dense")
    p = plain(s)

    def gradient(g):
        if masked_grad or masked_grad is None:
            return sparse_mask(g, coalesce(p) if p._layout is COO else p)
        return to_sparse(g, p._index[0].shape[0]) if p._layout is COO else _in_layout_of(p, g)
    return traced("ToDenseBackward0", _dense(p), (s,), (gradient,))


def _dense(s):
    s, shape = to_coo(s), s._ts_meta.shape
    vals, where = s._vals, s._index[0]
    if not where.shape[0]:
        return (vals.any(0) if vals.dtype.name == "bool" else vals.sum(0, dtype=vals.dtype)) if vals.shape[0] != 1 else vals[0].clone()
    base = F["zeros"](shape, dtype=vals.dtype, device=vals.device)
    if not vals._ts_meta.numel or vals.is_meta:
        return base
    if vals.dtype.name == "bool":
        s = coalesce(s)
        return base.index_put(tuple(s._index[0]), s._vals)
    return base.index_put(tuple(where), vals, accumulate=True)


def _in_layout_of(x, g):
    """A gradient in the layout of the sparse tensor `x`, or dense if that is."""
    if not is_sparse(x):
        return to_dense(g) if is_sparse(g) else g
    if is_sparse(g) and g._layout is x._layout:
        return g
    from .compressed import block_of
    return (to_sparse(g, layout=x._layout, blocksize=block_of(x)) if x._layout is not COO or is_sparse(g)
            else to_sparse(g, x._index[0].shape[0]))


def at(x, mask):
    """The values of `x`, dense or sparse, where those of the sparse tensor `mask` lie, as a dense tensor of the same shape,
    with history."""
    if not is_sparse(x):
        if mask._layout is COO and not mask._index[0].shape[0]:
            return x.unsqueeze(0).expand(mask._vals.shape)
        from .compressed import element_places
        return x[element_places(mask) if mask._layout is not COO else tuple(mask._index[0])]
    if is_sparse(mask) and x._layout is mask._layout and x._vals.shape == mask._vals.shape and same_places(x, mask) and \
            (x._layout is not COO or x._coalesced):
        return values_of(x)
    if mask._layout is not COO:
        return at(to_dense(x, masked_grad=False), mask)
    x = coalesce(to_coo(x))
    dims = x._index[0].shape[0]
    if dims != mask._index[0].shape[0]:
        return at(to_dense(x, masked_grad=False), mask)
    there, wanted, vals = own_places(x), own_places(mask), values_of(x)
    k = np.searchsorted(there, wanted)
    found = (np.flatnonzero((k < len(there)) & (there[np.minimum(k, max(len(there) - 1, 0))] == wanted)) if len(there)
             else np.zeros(0, np.int64))
    device = to_jax(x.device)
    none = F["zeros"](mask._vals.shape, dtype=vals.dtype, device=vals.device)
    return none.index_copy(0, on(device, found), vals[on(device, k[found])]) if len(found) else none


def same_places(a, b):
    """Whether two tensors of one layout have their values at the same places, one by one."""
    if a.is_meta or b.is_meta:
        return False
    return all([i is j or i.shape == j.shape and np.array_equal(host(i), host(j)) for i, j in zip(a._index, b._index)])


@handles("sparse_mask")
def sparse_mask(x, mask):
    """The values of `x`, dense or sparse, where the sparse tensor `mask` has some, as a tensor as sparse as that."""
    if not isinstance(mask, TensorBase):
        raise TypeError(f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask expected a sparse mask")
    if tuple(x.shape) != mask._ts_meta.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(x.shape)} but mask has size "
                           f"{list(mask._ts_meta.shape)}")
    if is_sparse(x) and x._layout is COO and mask._layout is COO and x._index[0].shape[0] != mask._index[0].shape[0]:
        raise RuntimeError(f"sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
                           f"`self.sparse_dim() == {x._index[0].shape[0]}` != `mask.sparse_dim() == {mask._index[0].shape[0]}`.")
    mask = plain(mask)
    out = like(mask, at(plain(x), mask).detach())

    def gradient(g):
        kept = sparse_mask(g, mask)
        kept = coalesce(kept) if mask._layout is COO else kept
        return to_dense(kept, masked_grad=False) if not is_sparse(x) else kept
    return traced("SparseMaskBackward0", out, (x,), (gradient,))


def like_places(x, mask):
    """A coalesced sparse tensor with zeros where the sparse tensor `mask` has no value."""
    if x._layout is not COO or mask._layout is not COO:
        return sparse_mask(x, mask)
    x = coalesce(x)
    inside = np.isin(own_places(x), own_places(mask))
    return x * like(plain(x), on(to_jax(x.device), inside).to(x.dtype))


@private
def _nnz(s):
    """How many values there are."""
    return s._index[-1].shape[-1]


@handles("to_sparse", "to_sparse_coo")
def to_sparse(x, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The tensor in a sparse layout: coordinates, unless another one is named. One that has that layout is returned as it is."""
    from . import conversion
    if sparse_dim is not None:
        made_of = conversion.with_sparse_dim(x, sparse_dim)
    else:
        made_of = conversion.converted("to_sparse", x, layout or COO, blocksize, dense_dim)
    if made_of is x:
        return x
    p = plain(x)
    return traced(f"ToSparseBackward{int(sparse_dim is None)}", made_of, (x,), (lambda g: _in_layout_of(p, g),))


def conversion_traced(name, x, out):
    """What a conversion by name made, with its history."""
    p = plain(x)
    return x if out is x else traced(name, out, (x,), (lambda g: _in_layout_of(p, g),))


