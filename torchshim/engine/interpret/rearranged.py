"""Whole operators as one NumPy function: elements in order or at a rank, put together, moved on, cut to a triangle.

They are told from shapes alone, so JAX traces such an operator only where it is differentiated or compiled: a `topk` or a `cat` whose
sizes change at each call costs no traces. A maker takes sizes and returns a function of arrays, or None where the rules serve.
"""
from __future__ import annotations

import math

import numpy as np

from .order_rules import MOST_SORTED, kth_place, leading_places, settled
from .orders import FEW, stable_order
from .picks import gathered
from .rules import F32, Spec, category

_TO_INT64 = 1 << 31
_HIGH, _LOW = np.int32(-2 ** 31), np.int64(0xFFFFFFFF)


def _moved(shape, d, n):
    """A shape with dimension `d` last, of the size n."""
    return (*shape[:d], *shape[d + 1:], n)


def _codes(x):
    """int64 in the order of x: the zeros equal, every nan last, as `ops.sorting.order_code`."""
    if x.dtype.kind in "iub":
        return x.astype(np.int64)
    bits = x.astype(F32, copy=False).view(np.int32)
    below = bits >> 31
    code = ((bits ^ (below | _HIGH)) - below).view(np.uint32)
    missing = x != x
    if missing.any():
        code = np.where(missing, np.uint32(0xFFFFFFFF), code)
    return code.astype(np.int64) - _TO_INT64


def order(shape, dtype, d, descending):
    """Where the elements in a stable order along `d` are; nan is the greatest."""
    n, kind = shape[d], category(dtype)
    if kind in ("complex", "other"):
        return None
    if dtype.itemsize > 4:
        def run(x):
            if not descending:
                return stable_order(x) if x.ndim == 1 and kind == "int" else x.argsort(d, kind="stable")
            return n - 1 - np.flip(np.flip(x, d).argsort(d, kind="stable"), d)
        return run
    at = np.arange(n, dtype=np.int64).reshape([n if k == d else 1 for k in range(len(shape))])

    def packed(x):                             # numbers alone sort several times faster than in a stable order
        codes = _codes(x)
        if descending:
            np.invert(codes, out=codes)
        codes <<= 32
        codes |= at
        codes.sort(d)
        codes &= _LOW
        return codes
    return packed


def sort(shape, dtype, d, descending, stable, values=True):
    """(values, places) in order along `d`; without `values` the places alone. Where a sort need not be `stable`, equal elements of
    arrays that are not large stand as torch leaves them."""
    places = order(shape, dtype, d, descending)
    if places is None:
        return None
    settle = not stable and shape[d] > FEW and math.prod(shape) <= MOST_SORTED

    def run(x):
        x = np.asarray(x)
        at = places(x)
        if settle:
            at = settled(x, at, d, descending)
        return [gathered(x, d, at), at] if values else [at]
    return run


def topk(shape, dtype, k, d, largest, ordered):
    """(values, places) of the k largest, or smallest, along `d`."""
    places = leading_places(largest, ordered)({}, [Spec(_moved(shape, d, shape[d]), dtype)],
                                              [Spec(_moved(shape, d, k), np.dtype(np.int64))])
    if places is None:
        return None

    def run(x):
        x = np.asarray(x)
        at = places(x)[0] if d == x.ndim - 1 else np.moveaxis(places(np.moveaxis(x, d, -1))[0], -1, d)
        return [gathered(x, d, at), at]
    return run


def kthvalue(shape, dtype, k, d, out):
    """(values, places) of rank k - 1 along `d`, in the shape `out`."""
    place = kth_place({}, [Spec(_moved(shape, d, shape[d]), dtype)], [Spec(_moved(shape, d, 1), np.dtype(np.int64))])
    if place is None:
        return None

    def run(x):
        x = np.asarray(x)
        at = place(x, k - 1)[0] if d == x.ndim - 1 else np.moveaxis(place(np.moveaxis(x, d, -1), k - 1)[0], -1, d)
        return [gathered(x, d, at).reshape(out), at.reshape(out)]
    return run


def concatenated(shapes, dtype, d, cast=True):
    """Arrays of these shapes one after the other along `d`, cast to `dtype` where they are of others; a shape of None is left out."""
    if not cast and None not in shapes:
        return lambda *arrays: [np.concatenate(arrays, d)]
    left = None if all([s is not None for s in shapes]) else [k for k, s in enumerate(shapes) if s is not None]

    def run(*arrays):
        if left is not None:
            arrays = [arrays[k] for k in left]
        return [np.concatenate([a if a.__class__ is np.ndarray and a.dtype is dtype else np.asarray(a).astype(dtype, copy=False)
                                for a in arrays], d)]
    return run


def stacked(shape, dtype, d):
    """Arrays of one shape along a new dimension, cast to `dtype`."""
    unit = (*shape[:d], 1, *shape[d:])

    def run(*arrays):
        return [np.concatenate([np.asarray(a).astype(dtype, copy=False).reshape(unit) for a in arrays], d)]
    return run


def rolled(shape, shifts, dims):
    """Moved on by `shifts` along `dims`, one after the other; () moves all elements on as one row."""
    moves = []
    for shift, d in zip(shifts, dims or (0,)):
        n = shape[d] if dims else int(np.prod(shape))
        if n and shift % n:
            ahead = (slice(None),) * d
            moves.append((d, (*ahead, slice(n - shift % n, None)), (*ahead, slice(None, n - shift % n))))

    def run(x):
        y = np.asarray(x)
        y = y if dims else y.reshape(-1)
        for d, back, front in moves:
            y = np.concatenate((y[back], y[front]), d)
        return [y.reshape(shape)]
    return run


def triangle(shape, dtype, diagonal, lower):
    """The lower or upper triangle of the last two dimensions, zeros elsewhere."""
    kept, zero = np.tri(*shape[-2:], diagonal if lower else diagonal - 1, bool), np.zeros((), dtype)

    def run(x):
        return [np.where(kept, x, zero) if lower else np.where(kept, zero, x)]
    return run
