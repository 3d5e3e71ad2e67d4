"""Reductions of consecutive segments of a dimension."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .common import is_float
from .index import Elements, into
from .loops import searchsorted
from .reduction import unsupported
from .registry import op

NEUTRAL = {"sum": 0, "mean": 0, "max": -np.inf, "min": np.inf, "prod": 1}
_COMBINED = {"sum": "add", "mean": "add", "max": "max", "min": "min", "prod": "multiply"}


def _segments(data, offsets):
    """Which segment each element of `data` is in, as many as there are for those in none."""
    a, count = offsets.ndim - 1, offsets.shape[-1] - 1
    at = jnp.broadcast_to(jnp.arange(data.shape[a]), data.shape[:a + 1])
    number = searchsorted(offsets, at, "right").astype(np.int64) - 1
    number = jnp.where((number < 0) | (number >= count), count, number)
    return Elements(a, jnp.broadcast_to(number.reshape(number.shape + (1,) * (data.ndim - a - 1)), data.shape))


def _lengths(data, offsets):
    """The segments' lengths, to be broadcast with the result."""
    lengths = jnp.diff(offsets, axis=-1)
    return lengths.reshape(lengths.shape + (1,) * (data.ndim - offsets.ndim)).astype(data.dtype)


def _reduced(data, offsets, reduce, initial):
    a = offsets.ndim - 1
    shape = data.shape[:a] + (offsets.shape[-1] - 1,) + data.shape[a + 1:]
    out = jnp.full(shape, NEUTRAL[reduce] if initial is None else initial, data.dtype)
    out = into(out, _segments(data, offsets), data, _COMBINED[reduce])
    if reduce == "mean":
        lengths = _lengths(data, offsets)
        out = jnp.where(lengths > 0, out / lengths, np.nan if initial is None else initial).astype(data.dtype)
    return out


def _read(result, segments):
    """What the result says of each element's segment; of none: 0."""
    at, count = segments.index, result.shape[segments.dim]
    if not count:
        return jnp.zeros(at.shape, result.dtype)
    return jnp.where(at < count, jnp.take_along_axis(result, jnp.minimum(at, count - 1), segments.dim), 0)


def _gradient(ct, data, offsets, reduce, initial):
    segments = _segments(data, offsets)
    if reduce == "sum":
        return _read(ct, segments), None
    if reduce == "mean":
        lengths = _lengths(data, offsets)
        return _read(jnp.where(lengths > 0, ct / lengths, 0), segments), None
    out = _reduced(data, offsets, reduce, initial)
    none = jnp.zeros(ct.shape, ct.dtype)
    if reduce == "prod":                       # of the others, where an element is zero
        zero, inside = data == 0, segments.index < ct.shape[segments.dim]
        zeros = _read(into(none, segments, zero.astype(ct.dtype), "add"), segments)
        rest = _reduced(jnp.where(zero, 1, data), offsets, reduce, initial)
        others = jnp.where(zero, jnp.where(zeros == 1, _read(rest, segments), 0), _read(out, segments) / jnp.where(zero, 1, data))
        return jnp.where(inside, _read(ct, segments) * others, 0), None
    same = (data == _read(out, segments)) | jnp.isnan(data)
    count = jnp.maximum(into(none, segments, same.astype(ct.dtype), "add"), 1)
    return jnp.where(same, _read(ct / count, segments), 0), None


@op("segment_reduce.offsets(Tensor data, Tensor offsets, str reduce, float? initial) -> Tensor", grad="SegmentReduceBackward0", pushes=False,
    rule=_gradient, nondiff=("offsets",), function=False, method=False, saves=("data", "offsets", "result"))
def segment_reduce(data, offsets, reduce, initial):
    """Sums, means, products or extremes of data[offsets[k]:offsets[k + 1]] along the dimension that is the offsets' last."""
    if not is_float(data):
        raise unsupported("_segment_reduce_cpu", data)
    return _reduced(data, offsets, reduce, initial)
