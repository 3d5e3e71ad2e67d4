"""Gathering and scattering of few elements as one NumPy function: what the general rules take for them is mostly their calls.

Indices are in range, or the trace raises at the next look: places outside are passed over. A maker takes shapes and returns a function of
arrays, which may be JAX's, or None where the general rules are as good.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from .rules import category

_FEW = 1 << 14             # elements up to which a call's own time matters
_INT64 = np.dtype(np.int64)


@functools.lru_cache(maxsize=256)
def _counted(shape, taken, d):
    """(how far apart elements are along d, where in the flat array the others of `taken`'s dimensions are), for a contiguous array."""
    step, place = 1, np.zeros((), np.int64)
    for k in range(len(shape) - 1, -1, -1):
        if k == d:
            along = step
        elif taken[k] > 1:
            place = place + (np.arange(taken[k]) * step).reshape((-1,) + (1,) * (len(shape) - 1 - k))
        step *= shape[k]
    place.flags.writeable = False
    return along, place if place.ndim else None


def _flat(index, shape, taken, d):
    """Where the elements that an index of shape `taken` names along d are in a flat array."""
    step, place = _counted(shape, taken, d)
    at = index if step == 1 else np.multiply(index, step, dtype=np.int64)
    return at if place is None else at + place


def gathered(a, d, index):
    """The elements of an array that an index, all of it in range, names along a dimension; the index may be smaller in others."""
    if index.ndim != a.ndim:                   # only an index without elements may
        return np.empty(index.shape, a.dtype)
    if not a.flags.c_contiguous or index.size > 1 << 16:
        return np.take_along_axis(a[tuple([slice(None) if k == d else slice(n) for k, n in enumerate(index.shape)])], index, d)
    return a.take(_flat(index, a.shape, index.shape, d))


def _in_range(index, n):
    return not index.size or np.maximum.reduce(index.view(np.uint64), None) < n


def scattered(shape, taken, given, d, dtype, add, whole=False):
    """Writes (or adds) elements of an array of shape `given` at the places that an index of shape `taken` names along d: as many as the
    index has, or, where it names `whole` slices (it is 1 along the other dimensions), all of them."""
    if (0 in shape or 0 in given or len(shape) != len(taken) or len(given) != len(shape) or math.prod(given) > _FEW
            or math.prod(shape) > _FEW):
        return None
    if category(dtype) not in ("int", "float", "complex"):
        return None
    covers = tuple(given if whole else taken)
    crop = None if covers == tuple(given) else tuple([slice(n) for n in covers])

    def scatter(x, index, values):
        out = np.array(x, order="C")
        index, values = np.asarray(index).reshape(taken).astype(_INT64, copy=False), np.asarray(values)
        if crop is not None:
            values = values[crop]
        if not _in_range(index, shape[d]):
            keep = np.broadcast_to((index >= 0) & (index < shape[d]), covers)
            at, values = np.broadcast_to(_flat(index, shape, covers, d), covers)[keep], values[keep]
        else:
            at = _flat(index, shape, covers, d)
        flat, at, values = out.reshape(-1), at.reshape(-1), values.reshape(-1)
        if add:
            np.add.at(flat, at, values)
        else:
            flat[at] = values
        return [out]
    return scatter


def scattered_into_zeros(shape, taken, d, dtype):
    """Adds elements at the places that an index names along d to zeros: what gathering has for a gradient."""
    scatter = scattered(shape, taken, taken, d, dtype, True)
    return scatter and (lambda index, values: scatter(np.zeros(shape, dtype), index, values))


def filled(shape, d, n, dtype):
    """Writes a number into the slices that n indices name along d; they may count from behind."""
    if 0 in shape or not shape or math.prod(shape) > _FEW or not n:
        return None
    before = (slice(None),) * d

    def fill(x, index, value):
        out = np.array(x, order="C")
        index = np.asarray(index).reshape(-1)
        out[(*before, index if _in_range(index.astype(_INT64, copy=False), shape[d]) else _around(index, shape[d]))] = value
        return [out]
    return fill


def _around(index, n):
    """Indices that count from behind, and without those that are out of range."""
    index = np.where(index < 0, index + n, index)
    return index[(index >= 0) & (index < n)]


def put(shape, indices, taken, dtype):
    """Writes values at the places that index arrays name; `indices` are their shapes, None for a dimension that is not indexed."""
    given = [k for k, i in enumerate(indices) if i is not None]
    if 0 in shape or not given or math.prod(shape) > _FEW or math.prod(taken) > _FEW or 0 in taken or category(dtype) == "other":
        return None

    def put(x, *rest):
        *index, values = [np.asarray(a) for a in rest]
        at = [slice(None)] * len(indices)
        for k, i in zip(given, index):
            i, n = i.astype(_INT64, copy=False), shape[k]
            if not _in_range(i, n):
                i = np.where(i < 0, i + n, i)
                if not _in_range(i, n):        # said at the next look
                    return [np.array(x, order="C")]
            at[k] = i
        out = np.array(x, order="C")
        out[tuple(at)] = values
        return [out]
    return put


def outside(low, high):
    """0 when all of an index lies in [low, high), else the first that does not."""
    none = np.zeros((), np.int64)

    def outside(index):
        index = np.asarray(index).reshape(-1)
        if not index.size or low <= np.minimum.reduce(index) and np.maximum.reduce(index) < high:
            return [none]
        return [np.asarray(index[((index < low) | (index >= high)).argmax()], np.int64)]
    return outside
