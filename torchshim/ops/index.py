"""Operators that read and write elements at places given by tensors.

Indices arrive checked (see `tensor.api.picking.in_range`); those that could not be checked yet are clamped, and the trace
raises at the next look.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import contiguous_strides, meta_of
from ..engine.interpret import picks
from . import promotion as P
from .common import is_complex, real_alone, taken, wide, wrap_dim
from .layout import as_cotangent, each, elementwise_strides, kept_strides, plain
from .memory_views import places_in_trace
from .casts import cast
from .registry import op


def zero(x):
    return jnp.zeros((), x.dtype)


def into(x, places, values, how):
    """x.at[places].set, add, multiply, max or min; booleans add as "or" and multiply as "and". Places outside are ignored. A half type
    is rounded at each step; "sum" adds too, and rounds once at the end."""
    if how == "sum":
        return into(wide(x), places, wide(values), "add").astype(x.dtype)
    if x.dtype == np.bool_ and how != "set":
        return into(x.astype(jnp.int8), places, values.astype(jnp.int8), {"add": "max", "multiply": "min"}.get(how, how)) != 0
    if isinstance(places, (Elements, Slices)):
        return places.put(x, values, how)
    return getattr(x.at[places], how)(values, mode="drop")


_SCATTERS = {"set": jax.lax.scatter, "add": jax.lax.scatter_add, "multiply": jax.lax.scatter_mul, "max": jax.lax.scatter_max,
             "min": jax.lax.scatter_min}


class Elements(NamedTuple):
    """Places along a dimension, one for each element of an index that is as large as the array in all others: which are counted by the
    scatter, and need no indices of their own."""
    dim: int
    index: jax.Array

    def put(self, x, values, how):
        one, others = (self.dim,), tuple([k for k in range(x.ndim) if k != self.dim])
        numbers = jax.lax.ScatterDimensionNumbers((), one, one, others, others)
        values = jnp.broadcast_to(values.astype(x.dtype), self.index.shape)
        return _SCATTERS[how](x, self.index[..., None], values, numbers, mode="drop")


class Slices(NamedTuple):
    """Places of whole slices of a dimension, by a vector of their numbers."""
    dim: int
    index: jax.Array

    def put(self, x, values, how):
        one = (self.dim,)
        windows = tuple([k for k in range(x.ndim) if k != self.dim])
        numbers = jax.lax.ScatterDimensionNumbers(windows, one, one)
        shape = x.shape[:self.dim] + self.index.shape + x.shape[self.dim + 1:]
        return _SCATTERS[how](x, self.index[:, None], jnp.broadcast_to(values.astype(x.dtype), shape), numbers, mode="drop")


# -- tensor[index] ------------------------------------------------------------------------------------------------------------
def places(x, indices):
    """A NumPy index: None stands for a dimension that is not indexed."""
    return tuple([slice(None) if i is None else jnp.asarray(i) for i in indices])


def indexed_shape(shape, indices):
    """Shape of the result of `index`, from the indices' metas; torch's error when they do not broadcast."""
    given = [i for i in indices if i is not None]
    try:
        common = np.broadcast_shapes(*[i.shape for i in given])
    except ValueError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(i.shape)) for i in given)) from None
    at = [d for d, i in enumerate(indices) if i is not None]
    rest = [n for d, n in enumerate(shape) if d >= len(indices) or indices[d] is None]
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    return tuple(rest[:first]) + common + tuple(rest[first:]), first, common


def _index_strides(inst, m, indices):
    """torch lays the result out as its iterator finds the operands: the source with stride 0 where it is indexed."""
    if m.strides == contiguous_strides(m.shape):
        return None
    shape, first, common = indexed_shape(m.shape, indices)
    rest = [s for d, s in enumerate(m.strides) if d >= len(indices) or indices[d] is None]
    seen = meta_of(shape, m.dtype, m.device, tuple(rest[:first]) + (0,) * len(common) + tuple(rest[first:]))
    operands = [seen]
    for i in indices:
        if i is not None:
            lead = first + len(common) - i.ndim
            padded = (1,) * lead + i.shape + (1,) * (len(rest) - first)
            strides = contiguous_strides(padded) if i.contiguous and i.shape == common else \
                (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(i.shape, i.strides)]) + (0,) * (len(rest) - first)
            operands.append(meta_of(padded, i.dtype, m.device, strides))
    return elementwise_strides(operands, shape)


INDEX = op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", plain_gradients=True, grad="IndexBackward0", strides=_index_strides)(
    lambda self, indices: self.at[places(self, indices)].get(mode="clip"))


def _shaped(ct, like):
    """A cotangent summed to the shape of an operand that was broadcast."""
    lead = ct.ndim - like.ndim
    axes = tuple(range(lead)) + tuple(d + lead for d, n in enumerate(like.shape) if n == 1 and ct.shape[d + lead] != 1)
    return jnp.sum(ct, axes).reshape(like.shape) if axes else ct.reshape(like.shape)


def _put_at(self, indices, values, accumulate):
    return into(self, places(self, indices), values, "add" if accumulate else "set")


def _kept(inst, self, *rest):
    """The strides of a copy of `self`, which the in-place form then writes to."""
    return kept_strides(self)


def _put_on_host(inst):
    m, values, indices = inst.in_metas[0], inst.in_metas[-1], inst.layout[1]
    if inst.layout[3] or values.dtype != m.dtype or any([i.dtype.kind not in "iu" for i in inst.in_metas[1:-1]]):
        return None
    metas = iter(inst.in_metas[1:-1])
    shapes = [None if i is None else next(metas) for i in indices]
    return picks.put(m.shape, shapes, indexed_shape(m.shape, shapes)[0], m.dtype)


def _held_as_given(inst):
    """Whether NumPy writes the one number of a call into memory as torch does."""
    d = inst.in_metas[0].dtype
    return P.compute_dtype(d) == d and (inst.kinds == "i" and P.kind_of(d) == 1 or inst.kinds in ("i", "f") and P.kind_of(d) == 2)


def _put_number_on_host(inst):
    m, indices = inst.in_metas[0], inst.layout[1]
    if not _held_as_given(inst) or any([i.dtype.kind not in "iu" for i in inst.in_metas[1:]]):
        return None
    metas = iter(inst.in_metas[1:])
    shapes = [None if i is None else next(metas) for i in indices]
    return picks.put(m.shape, shapes, indexed_shape(m.shape, shapes)[0], m.dtype)


INDEX_PUT = op("index_put.values(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
               lie=each(as_cotangent, plain),
    grad="IndexPutBackward0", inplace=True, strides=_kept, host=_put_on_host, rule=lambda ct, self, indices, values, accumulate: [
        ct if accumulate else ct.at[places(ct, indices)].set(zero(ct), mode="drop"),
        *[None for i in indices if i is not None],
        _shaped(ct.at[places(ct, indices)].get(mode="clip"), values)])(_put_at)
INDEX_PUT_NUMBER = op("index_put.number(Tensor self, Tensor?[] indices, Scalar value) -> Tensor", lie=each(as_cotangent, plain),
    grad="IndexPutBackward0", inplace=True, strides=_kept, host=_put_number_on_host,
    rule=lambda ct, self, indices, value: [ct.at[places(ct, indices)].set(zero(ct), mode="drop")])(
    lambda self, indices, value: _put_at(self, indices, cast(jnp.asarray(value), self.dtype), False))


def _masked_dims(self, mask, first):
    """The mask with the shape of `self`'s dimensions from `first` on."""
    return mask.reshape((1,) * first + mask.shape + (1,) * (self.ndim - first - mask.ndim))


# x[..., mask, ...] = value, without looking how many elements the mask has: `first` is the mask's first dimension
MASK_PUT = op("index_put.mask(Tensor self, Tensor mask, Tensor values, int first) -> Tensor",
    grad="IndexPutBackward0", inplace=True, strides=_kept)(
    lambda self, mask, values, first: jnp.where(_masked_dims(self, mask, first), cast(values, self.dtype), self))
MASK_PUT_NUMBER = op("index_put.mask_number(Tensor self, Tensor mask, Scalar value, int first) -> Tensor",
    grad="IndexPutBackward0", inplace=True, strides=_kept)(
    lambda self, mask, value, first: jnp.where(_masked_dims(self, mask, first), cast(jnp.asarray(value), self.dtype), self))


def _mask_put_rows(self, mask, values):
    """x[mask] = rows: the k-th chosen place gets the k-th row."""
    if not values.size:
        return self
    k = jnp.cumsum(mask.ravel().astype(jnp.int32)).reshape(mask.shape) - 1
    rows = values.at[jnp.maximum(k, 0)].get(mode="clip")
    return jnp.where(_masked_dims(self, mask, 0), rows, self)


MASK_PUT_ROWS = op("index_put.mask_rows(Tensor self, Tensor mask, Tensor values) -> Tensor",
    grad="IndexPutBackward0", inplace=True, strides=_kept)(_mask_put_rows)


# -- along one dimension --------------------------------------------------------------------------------------------------------
def along(shape, dim, index):
    """A NumPy index of the elements that (dim, index) names: every other dimension at its own position."""
    return tuple([index if d == dim else jax.lax.broadcasted_iota(index.dtype, index.shape, d) for d in range(len(shape))])


def _one(x):
    return x.reshape((1,)) if not x.ndim else x


def _gather(self, dim, index):
    if not self.ndim and not index.ndim:
        return self
    x, i = _one(self), _one(index)
    d = wrap_dim(dim, x.ndim)
    if not i.size:
        return jnp.zeros(index.shape, self.dtype)
    x = jax.lax.slice(x, (0,) * x.ndim, [n if k == d else m for k, (n, m) in enumerate(zip(x.shape, i.shape))])
    return taken(x, i, d).reshape(index.shape)


def _wrapped(self, dim, index):
    return jnp.where(index < 0, index + (self.shape[dim] if self.ndim else 1), index)


def _gather_back_on_host(inst, plan):
    m, index = inst.in_metas
    if plan.args != (0, 1) or plan.outs or not m.ndim or not index.ndim:
        return None
    scatter = picks.scattered_into_zeros(m.shape, index.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype)
    return scatter and (lambda self, index, ct: scatter(index, ct))


_gathers = functools.partial(op, plain_gradients=True, grad="GatherBackward0", host_back=_gather_back_on_host, saves=("self", "index"),
    rule=lambda ct, self, dim, index: [_scatter_into(jnp.zeros(self.shape, ct.dtype), dim, index, _one(ct), "sum"), None])
GATHER = _gathers("gather.along(Tensor self, int dim, Tensor index) -> Tensor")(_gather)
# of a tensor and an index that were expanded to each other
GATHER_EXPANDED = _gathers("gather.expanded(Tensor self, int dim, Tensor index) -> Tensor",
    seen=lambda inst: dict(enumerate([m.shape for m in inst.in_metas])))(_gather)


def _src(src, index):
    return jax.lax.slice(_one(src), (0,) * index.ndim, index.shape)


def _scatter_into(self, dim, index, src, how):
    x, i = _one(self), _one(index)
    if not i.size:
        return self
    values = _src(src, i) if jnp.ndim(src) else cast(jnp.asarray(src), self.dtype)
    d = wrap_dim(dim, x.ndim)
    fits = all([k == d or n == m for k, (n, m) in enumerate(zip(x.shape, i.shape))])
    return into(x, Elements(d, i) if fits else along(x.shape, d, i), values, how).reshape(self.shape)


def _cleared(ct, dim, index):
    return _scatter_into(ct, dim, index, zero(ct), "set")


def _picked(ct, dim, index, src):
    """The cotangent of `src`: what lies at the places, zero where `src` is larger than the index."""
    if not index.size:
        return jnp.zeros(src.shape, ct.dtype)
    g = _one(_gather(ct, dim, index))
    s = _one(src)
    return jax.lax.pad(g, zero(g), [(0, n - k, 0) for n, k in zip(s.shape, g.shape)]).reshape(src.shape)


def _smaller(inst, needs):
    """back_refuses: torch gives `src` a gradient of the index's shape, which refuses where it does not expand to its own."""
    index, src = inst.in_metas[1:]
    if 2 in needs and index.shape != src.shape and src.ndim:
        fits = index.ndim >= src.ndim and all([s in (1, n) for n, s in zip(index.shape[::-1], src.shape[::-1])])
        if not fits:
            return (f"Function {inst.grad_fn_name} returned an invalid gradient at index 1 - got {list(index.shape)} but expected shape "
                    f"compatible with {list(src.shape)}")
    return None


def _scatter_on_host(add):
    def host(inst):
        m, index, src = inst.in_metas
        if not m.ndim or not index.ndim or not src.ndim or src.dtype != m.dtype or index.numel == 0:
            return None
        return picks.scattered(m.shape, index.shape, src.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype, add)
    return host


def _scatter_number_on_host(inst):
    m, index = inst.in_metas
    if not m.ndim or not index.ndim or not _held_as_given(inst) or index.numel == 0:
        return None
    scatter = picks.scattered(m.shape, index.shape, index.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype, False)
    return scatter and (lambda x, index, value: scatter(x, index, np.full(index.shape, value, m.dtype)))


SCATTER = op("scatter.values(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", plain_gradients=True, grad="ScatterBackward0",
    back_refuses=_smaller,
    inplace=True,
    host=_scatter_on_host(False), rule=lambda ct, self, dim, index, src: [_cleared(ct, dim, index), None, _picked(ct, dim, index, src)])(
    lambda self, dim, index, src: _scatter_into(self, dim, index, _one(src), "set"))
SCATTER_NUMBER = op("scatter.number(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", plain_gradients=True,
    grad="ScatterBackward1", inplace=True, host=_scatter_number_on_host,
    rule=lambda ct, self, dim, index, value: [_cleared(ct, dim, index), None])(
    lambda self, dim, index, value: _scatter_into(self, dim, index, value, "set"))
_OLD = {"add": "sum", "multiply": "multiply"}
SCATTER_OLD = op("scatter.old_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce) -> Tensor", plain_gradients=True,
    grad="NotImplemented", inplace=True)(
    lambda self, dim, index, src, reduce: _scatter_into(self, dim, index, _one(src), _OLD[reduce]))
SCATTER_OLD_NUMBER = op("scatter.old_number(Tensor self, int dim, Tensor index, Scalar value, str reduce) -> Tensor", plain_gradients=True,
    grad="NotImplemented", inplace=True)(
    lambda self, dim, index, value, reduce: _scatter_into(self, dim, index, value, _OLD[reduce]))
SCATTER_ADD = op("scatter_add.along(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    grad="ScatterAddBackward0", inplace=True, host=_scatter_on_host(True), back_refuses=_smaller,
    rule=lambda ct, self, dim, index, src: [ct, None, _picked(ct, dim, index, src)])(
    lambda self, dim, index, src: _scatter_into(self, dim, index, _one(src), "sum"))

HOW = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min", "mean": "add"}


def _neutral(how, dtype):
    if how == "prod":
        return jnp.ones((), dtype)
    if how in ("sum", "mean"):
        return jnp.zeros((), dtype)
    low = how == "amax"
    if dtype == np.bool_:
        return jnp.asarray(not low)
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.asarray(-np.inf if low else np.inf, dtype)
    return jnp.asarray(jnp.iinfo(dtype).min if low else jnp.iinfo(dtype).max, dtype)


def _divided(total, count, dtype):
    if jnp.issubdtype(dtype, jnp.inexact):
        return total / count.astype(total.dtype)
    return jnp.floor_divide(total, count.astype(total.dtype))


def _reduced(self, how, include_self, combine):
    """`combine(base, values or None, method)` scatters into a base; how torch's reductions with include_self are built from it."""
    x = wide(self)
    base = x
    if not include_self:
        base = combine(x, _neutral(how, x.dtype), "set")
    out = combine(base, None, HOW[how])
    if how == "mean":
        ones = jnp.ones(x.shape, jnp.int32)
        count = combine(ones if include_self else combine(ones, jnp.zeros((), jnp.int32), "set"), jnp.ones((), jnp.int32), "add")
        out = _divided(out, jnp.maximum(count, 1), x.dtype)
    return out.astype(self.dtype)


def _scatter_reduce(self, dim, index, src, reduce, include_self):
    if not index.size:
        return self
    values = wide(_one(src))
    return _reduced(self, reduce, include_self,
                    lambda base, v, method: _scatter_into(base, dim, index, values if v is None else v, method))


def _reduce_gradients(ct, self, src, out, reduce, include_self, read, add, clear):
    """torch's gradients of scatter_reduce and index_reduce. read(x): at the places of src; add(x, v): sums into them."""
    if reduce == "sum":
        g_self, g_src = ct, read(ct)
    elif reduce == "mean":
        ones = jnp.ones(self.shape, ct.dtype)
        count = jnp.maximum(add(ones if include_self else clear(ones), jnp.ones(src.shape, ct.dtype)), 1)
        g_self, g_src = ct / count, read(ct / count)
    else:
        value = read(out)
        is_self, is_src = self == out, src == value
        count = add(is_self.astype(ct.dtype), is_src.astype(ct.dtype))
        share = ct / count
        g_self, g_src = is_self * share, is_src * read(share)          # nan where none is equal
    if not include_self:
        g_self = clear(g_self)
    return g_self, g_src


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _product(how, base, values, index):
    """base.at[places].multiply(values), differentiable any number of times where places repeat and factors are zero."""
    return base.at[how.places(base, index)].multiply(values, mode="drop")


def _product_forward(how, base, values, index):
    out = _product(how, base, values, index)
    return out, (base, values, index, out)


def _product_backward(how, saved, ct):
    base, values, index, out = saved
    at = how.places(base, index)
    read = lambda x: x.at[at].get(mode="clip")
    nonzero = jnp.where(base == 0, jnp.ones((), base.dtype), base)
    g_base = ct * _product(how, nonzero, values, index) / nonzero
    is_zero = values == 0
    single = is_zero & (read(jnp.zeros(base.shape, jnp.int32).at[at].add(is_zero.astype(jnp.int32), mode="drop")) == 1)
    others = _product(how, base, jnp.where(single, jnp.ones((), values.dtype), values), index)
    g_values = jnp.where(single, read(ct * others), read(ct * out) / jnp.where(is_zero, jnp.ones((), values.dtype), values))
    return g_base, g_values, None


_product.defvjp(_product_forward, _product_backward)


class Along(NamedTuple):
    """Places along a dimension: one for each element of the index."""
    dim: int

    def places(self, x, index):
        return along(x.shape, self.dim, index)


class Rows(NamedTuple):
    """Places of whole slices of a dimension."""
    dim: int

    def places(self, x, index):
        return _rows(x, self.dim, index)


def _product_gradients(ct, self, src, index, how, include_self):
    """Gradients of the product of `self` (or of nothing) and the elements of `src`."""
    def forward(x, v):
        base = x if include_self else x.at[how.places(x, index)].set(jnp.ones((), x.dtype), mode="drop")
        return _product(how, base, v, index)
    g_self, g_src = jax.vjp(forward, _one(self), src)[1](jnp.conj(_one(ct)) if is_complex(ct) else _one(ct))
    if is_complex(ct):
        g_self, g_src = jnp.conj(g_self), jnp.conj(g_src)
    return g_self.reshape(self.shape), g_src


def _refuse_zeros_that_meet(name, source, places):
    """`twice_looks` of a product: torch has no second derivative where several zeros come to one place. `places`: where, and what is zero."""
    def looks(inst):
        m = inst.in_metas[0]

        def find(index, values):
            counts = np.zeros(m.shape or (1,), np.int64)
            np.add.at(counts, *places(wrap_dim(inst.layout[1], m.ndim), np.atleast_1d(index), np.atleast_1d(values == 0)))
            return (f"{name}(): Double backward is unsupported for {source} when >1 zeros in {source} are scattered to the same position "
                    "in self") if (counts > 1).any() else None
        return ((1, 2), 2, find) if inst.layout[4] == "prod" and inst.in_metas[1].numel else None
    return looks


def _scattered(dim, index, zeros):
    at = list(np.indices(index.shape))
    at[dim] = index
    return tuple(at), zeros[tuple([slice(n) for n in index.shape])]


def _scatter_reduce_grads(ct, self, dim, index, src, reduce, include_self, result):
    if not index.size:
        return [ct, None, jnp.zeros(src.shape, ct.dtype)]
    part = _src(src, _one(index))
    if reduce == "prod" and index.size:
        g_self, g_src = _product_gradients(ct, self, part, _one(index), Along(wrap_dim(dim, self.ndim)), include_self)
    else:
        g_self, g_src = _reduce_gradients(
            ct, self, part, result, reduce, include_self, lambda x: _one(_gather(x, dim, index)),
            lambda base, v: _scatter_into(base, dim, index, v, "add"), lambda x: _cleared(x, dim, index))
    s = _one(src)
    g_src = jax.lax.pad(g_src, zero(g_src), [(0, n - k, 0) for n, k in zip(s.shape, g_src.shape)]).reshape(src.shape)
    return [g_self, None, g_src]


def _of_extremes(inst):
    """Which of them is the extreme is found by comparisons."""
    return "compared" if inst.layout[4] in ("amax", "amin") else None


_REDUCED = ("self", "index", "src", "source", "result")
SCATTER_REDUCE = op("scatter_reduce.along(Tensor self, int dim, Tensor index, Tensor src, str reduce, bool include_self=True) -> Tensor",
    grad="ScatterReduceBackward0", grad_for=real_alone, inplace=True, rule=_scatter_reduce_grads, saves=_REDUCED, twice=_of_extremes)(_scatter_reduce)
SCATTER_REDUCE.twice_looks = _refuse_zeros_that_meet("scatter_reduce", "src", _scattered)


# -- whole slices of one dimension -----------------------------------------------------------------------------------------------
def _rows(x, dim, index):
    return (slice(None),) * dim + (_one(index),)


def _index_select(self, dim, index):
    if not self.ndim:
        return self.reshape((1,)).at[_one(index)].get(mode="clip").reshape(())
    return jnp.take(self, _one(index), wrap_dim(dim, self.ndim), mode="clip")


INDEX_SELECT = op("index_select.rows(Tensor self, int dim, Tensor index) -> Tensor", plain_gradients=True, grad="IndexSelectBackward0",
    rule=lambda ct, self, dim, index: [_add_rows(jnp.zeros(self.shape, ct.dtype), dim, index, _one(ct)), None])(_index_select)


def _into_rows(self, dim, index, values, how):
    x = _one(self)
    d = wrap_dim(dim, x.ndim)
    if jnp.ndim(values) and values.ndim != x.ndim:
        values = values.reshape(x.shape[:d] + (index.size,) + x.shape[d + 1:])
    if not jnp.ndim(values) and index.size == 1 and how != "set":
        values = jnp.reshape(values, (1,) * x.ndim)
    return into(x, Slices(d, _one(index)), values, how).reshape(self.shape)


def _index_add(self, dim, index, source, alpha):
    if alpha.__class__ is int:
        return _add_rows(self, dim, index, source)
    return _into_rows(self, dim, index, source * cast(alpha, source.dtype), "add")


def _add_rows(self, dim, index, source):
    """torch sums slices of the first and last dimension as scatter_add does."""
    outer = self.ndim > 1 and wrap_dim(dim, self.ndim) in (0, self.ndim - 1) and index.dtype == np.int64
    return _into_rows(self, dim, index, source, "sum" if outer else "add")


def _add_rows_on_host(inst):
    m, index, source = inst.in_metas
    if inst.layout[4].__class__ is not int or not m.ndim or m.ndim != source.ndim or source.dtype != m.dtype:
        return None
    d = wrap_dim(inst.layout[1], m.ndim)
    return picks.scattered(m.shape, (1,) * d + (index.numel,) + (1,) * (m.ndim - 1 - d), source.shape, d, m.dtype, True, True)


INDEX_ADD = op("index_add.rows(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", passing=("self",),
    grad="IndexAddBackward0", inplace=True, saves=("index for source", "source for source"), host=_add_rows_on_host)(_index_add)
INDEX_COPY = op("index_copy.rows(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    grad="IndexCopyBackward0", inplace=True, saves=("index", "source for source"),
    rule=lambda ct, self, dim, index, source: [_into_rows(ct, dim, index, zero(ct), "set"), None,
        _index_select(ct, dim, index).reshape(source.shape)])(
    lambda self, dim, index, source: _into_rows(self, dim, index, source, "set"))
def _filled(self, dim, index, value):
    return _into_rows(self, dim, _wrapped(self, dim, index), value, "set")


def _fill_on_host(inst):
    m, index = inst.in_metas
    fill = m.ndim and picks.filled(m.shape, wrap_dim(inst.layout[1], m.ndim), index.numel, m.dtype)
    if not fill or P.kind_of(m.dtype) != 2 or P.compute_dtype(m.dtype) != m.dtype or inst.kinds not in ("i", "f"):
        return None
    return fill


INDEX_FILL = op("index_fill.number(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", lie=as_cotangent,
    grad="IndexFillBackward0", inplace=True, strides=_kept, host=_fill_on_host,
    rule=lambda ct, self, dim, index, value: [_filled(ct, dim, index, zero(ct)), None])(
    lambda self, dim, index, value: _filled(self, dim, index, cast(jnp.asarray(value), self.dtype)))
INDEX_FILL_TENSOR = op("index_fill.tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", lie=as_cotangent,
    grad="IndexFillBackward1", inplace=True, strides=_kept,
    rule=lambda ct, self, dim, index, value: [_filled(ct, dim, index, zero(ct)), None,
        # a row named twice counts once
        jnp.sum(jnp.where(_filled(jnp.zeros(ct.shape, bool), dim, index, jnp.ones((), bool)), ct, zero(ct)))])(
    lambda self, dim, index, value: _filled(self, dim, index, cast(value, self.dtype)))


def _index_reduce(self, dim, index, source, reduce, include_self):
    values = wide(source)
    return _reduced(self, reduce, include_self,
                    lambda base, v, method: _into_rows(base, dim, index, values if v is None else v, method))


def _index_reduce_grads(ct, self, dim, index, source, reduce, include_self, result):
    if reduce == "prod" and index.size:
        g_self, g_src = _product_gradients(ct, self, _one(source), index, Rows(wrap_dim(dim, self.ndim)), include_self)
    else:
        g_self, g_src = _reduce_gradients(
            ct, self, source, result, reduce, include_self, lambda x: _index_select(x, dim, index).reshape(source.shape),
            lambda base, v: _into_rows(base, dim, index, v, "add"), lambda x: _into_rows(x, dim, index, zero(x), "set"))
    return [g_self, None, g_src.reshape(source.shape)]


INDEX_REDUCE = op("index_reduce.rows(Tensor self, int dim, Tensor index, Tensor source, str reduce, bool include_self=True) -> Tensor",
    grad="IndexReduceBackward0", inplace=True, pushes=False, rule=_index_reduce_grads, saves=_REDUCED, twice=_of_extremes)(_index_reduce)
INDEX_REDUCE.twice_looks = _refuse_zeros_that_meet(
    "index_reduce", "source", lambda dim, index, zeros: ((slice(None),) * dim + (index,), zeros))


# -- masks ---------------------------------------------------------------------------------------------------------------------
def _check_mask(m, mask, *_):
    if mask.dtype != np.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {P.cpp_name(mask.dtype)}")


MASKED_FILL = op("masked_fill.number(Tensor self, Tensor mask, Scalar value) -> Tensor", plain_gradients=True,
    grad="MaskedFillBackward0", check=_check_mask, inplace=True)(
    lambda self, mask, value: jnp.where(mask, cast(jnp.asarray(value), self.dtype), self))
MASKED_FILL_TENSOR = op("masked_fill.tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", plain_gradients=True,
    grad="MaskedFillBackward1",
    check=_check_mask, inplace=True)(
    lambda self, mask, value: jnp.where(mask, cast(value, self.dtype), self))


def _masked_scatter(self, mask, source):
    shape = jnp.broadcast_shapes(self.shape, mask.shape)
    mask, x = jnp.broadcast_to(mask, shape), jnp.broadcast_to(self, shape)
    if not source.size:
        return x
    k = jnp.cumsum(mask.ravel().astype(jnp.int32)).reshape(shape) - 1
    return jnp.where(mask, source.ravel().at[jnp.maximum(k, 0)].get(mode="clip"), x)


MASKED_SCATTER = op("masked_scatter.mask(Tensor self, Tensor mask, Tensor source) -> Tensor", plain_gradients=True,
    grad="MaskedScatterBackward0", inplace=True)(_masked_scatter)
# the places are found on the host: (self broadcast with mask).ravel()[places]
MASKED_SELECT = op("masked_select.places(Tensor self, Tensor mask, Tensor places, int[] shape) -> Tensor", grad="MaskedSelectBackward0",
    sizes=("shape",), saves=("self", "mask"), twice=lambda inst: None if inst.in_metas[0].numel else "compared")(
    lambda self, mask, places, shape: jnp.broadcast_to(self, shape).ravel().at[places].get(mode="clip"))


# -- at once --------------------------------------------------------------------------------------------------------------------
#: What NumPy picks, by operator, from an array it has at hand with indices that are known to be in range: functions of (array, layout,
#: *indices) for operands with dimensions.
AT_ONCE = {INDEX: lambda a, layout, *at: a[at], GATHER: lambda a, layout, index: picks.gathered(a, layout[1], index),
           GATHER_EXPANDED: lambda a, layout, index: picks.gathered(a, layout[1], index),
           INDEX_SELECT: lambda a, layout, index: a.take(index, layout[1]),
           MASKED_SELECT: lambda a, layout, mask, places: np.broadcast_to(a, layout[3]).ravel()[places]}


# -- flat places ------------------------------------------------------------------------------------------------------------------
def _flat(index, n):
    return jnp.where(index < 0, index + n, index)


TAKE = op("take.flat(Tensor self, Tensor index) -> Tensor", grad="TakeBackward0", saves=("self", "index"))(
    lambda self, index: self.ravel().at[_flat(index, self.size)].get(mode="clip"))


AT_ONCE[TAKE] = lambda a, layout, index: a.take(index)


def _put_flat(self, index, source, accumulate):
    at = _flat(index.ravel(), self.size)
    return into(self.ravel(), at, source.ravel(), "add" if accumulate else "set").reshape(self.shape)


PUT = op("put.flat(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", grad="PutBackward0", inplace=True,
    strides=_kept, saves=("index", "source for source"),
    rule=lambda ct, self, index, source, accumulate: [
        ct if accumulate else _put_flat(ct, index, jnp.zeros(index.shape, ct.dtype), False), None,
        ct.ravel().at[_flat(index, ct.size)].get(mode="clip").reshape(source.shape)])(_put_flat)


# torch's gradient for self is that of the written window, zero elsewhere
AS_STRIDED_SCATTER = op("as_strided_scatter.own(Tensor self, Tensor src, int[] size, int[] stride, int offset) -> Tensor",
    grad="AsStridedScatterBackward0",
    rule=lambda ct, self, src, size, stride, offset: [
        _put_window(jnp.zeros_like(ct), _window(ct, size, stride, offset), size, stride, offset), _window(ct, size, stride, offset)])(
    lambda self, src, size, stride, offset: _put_window(self, src, size, stride, offset))


def _window(x, size, stride, offset):
    return x.ravel()[places_in_trace(size, stride, offset)]


def _put_window(x, v, size, stride, offset):
    return x.ravel().at[places_in_trace(size, stride, offset)].set(v).reshape(x.shape)


# -- is an index tensor within its bounds? -----------------------------------------------------------------------------------------
def _outside(index, low, high):
    """0 when all of `index` lies in [low, high), else one that does not."""
    bad = (index < low) | (index >= high)
    pick = jnp.argmax(bad.ravel())
    worst = index.ravel()[pick].astype(jnp.int64)
    return jnp.where(jnp.any(bad), worst, 0)


OUTSIDE = op("outside.bounds(Tensor index, int low, int high) -> Tensor", grad=None, sizes=("low", "high"), apart=0,
    host=lambda inst: picks.outside(*inst.layout[1:]))(_outside)
MORE_THAN = op("more_than.true(Tensor mask, int n) -> Tensor", grad=None, sizes=("n",), apart=0)(
    lambda mask, n: jnp.sum(mask.astype(jnp.int64)) > n)
