"""Transforms of real numbers in both halves as one NumPy function: the second half is the first one's conjugate, which costs less to write
down than to compute."""

from __future__ import annotations

import numpy as np


def of_real(dims, sizes, factor, dtype):
    """A function: the discrete Fourier transform of a real array along `dims`, cut or filled with zeros to `sizes` there; times `factor`,
    or None. `dtype` is the result's."""
    last, n = dims[-1], sizes[-1]
    kept, real = n // 2 + 1, np.dtype(f"f{dtype.itemsize // 2}")
    factor = None if factor is None else real.type(factor)

    def run(x):
        half = np.fft.rfftn(np.asarray(x), sizes, dims).astype(dtype, copy=False)
        if factor is not None:
            half *= factor
        if kept == n:
            return [half]
        shape = list(half.shape)
        shape[last] = n
        out = np.empty(shape, dtype)
        place = [slice(None)] * len(shape)
        place[last] = slice(kept)
        out[tuple(place)] = half
        _mirrored(half, out, dims[:-1], _at(place, last, slice(kept, None)), _at(place, last, slice(n - kept, 0, -1)))
        return [out]
    return run


def _at(place, d, part):
    return [*place[:d], part, *place[d + 1:]]


def _mirrored(half, out, dims, to, by):
    """Conjugates of `half` at `by` into `out` at `to`, other transformed dimensions from behind: all but what is first."""
    if dims:
        d, *dims = dims
        _mirrored(half, out, dims, _at(to, d, slice(1)), _at(by, d, slice(1)))
        if half.shape[d] > 1:
            _mirrored(half, out, dims, _at(to, d, slice(1, None)), _at(by, d, slice(None, 0, -1)))
    else:
        np.conjugate(half[tuple(by)], out[tuple(to)])
