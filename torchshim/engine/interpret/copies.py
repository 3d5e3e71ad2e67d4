"""Copies of turned arrays by tiles, since NumPy writes a large transposed matrix row by row and reads a line of memory for each of its
elements; and room for what is computed on the way."""

from __future__ import annotations

import numpy as np

from .. import blas

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


_LINE = 64                 # bytes of a line of memory: NumPy's loops take up to twice as long where what they write lies across such lines
_WORTH = 1 << 15           # bytes of arrays for which that is more than what it costs to find the next line


def scratch(count, size, dtype):
    """So many arrays of `size` elements that nobody else gets to see; large ones begin with a line of memory."""
    if size * dtype.itemsize < _WORTH:
        return [np.empty(size, dtype) for _ in range(count)]
    step = -(-size * dtype.itemsize // _LINE) * _LINE
    room = np.empty(count * step + _LINE, np.uint8)
    first = -blas.address(room) % _LINE
    return [np.ndarray((size,), dtype, room, first + k * step) for k in range(count)]
