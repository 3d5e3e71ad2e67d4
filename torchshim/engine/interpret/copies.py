"""Copies of turned arrays by tiles. NumPy writes a large transposed matrix row by row,
and reads a line of memory for each of its elements."""

from __future__ import annotations

import numpy as np

_LARGE, _LONG = 1 << 18, 256       # elements; of the last dimension, whose lines of memory do not stay near
_TILE = 128


def contiguous(x):
    """np.ascontiguousarray of an array of NumPy's."""
    if x.size < _LARGE or x.flags.c_contiguous or x.shape[-1] < _LONG or abs(x.strides[-1]) < _TILE:
        return np.ascontiguousarray(x)
    near = [d for d in range(x.ndim - 1) if abs(x.strides[d]) == x.itemsize and x.shape[d] > 1]
    if not near:
        return np.ascontiguousarray(x)
    d, out = near[0], np.empty(x.shape, x.dtype)
    place = [slice(None)] * x.ndim
    for i in range(0, x.shape[d], _TILE):
        place[d] = slice(i, i + _TILE)
        for j in range(0, x.shape[-1], _TILE):
            place[-1] = slice(j, j + _TILE)
            at = tuple(place)
            out[at] = x[at]
    return out


def reshaped(x, shape):
    """x.reshape(shape)."""
    if x.size < _LARGE or x.__class__ is not np.ndarray or x.flags.c_contiguous:
        return x.reshape(shape)
    try:
        return np.reshape(x, shape, copy=False)
    except (TypeError, ValueError):            # it cannot be seen so, or an older NumPy was asked
        return contiguous(x).reshape(shape)
