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
    others = [*zip(dims, sizes)][:-1]
    rest, place = others[::-1], [slice(None)] * (max(dims) + 1)
    first = tuple(_at(place, last, slice(kept)))
    mirrored = _mirrored(others, _at(place, last, slice(kept, None)), _at(place, last, slice(n - kept, 0, -1)))

    def run(x):
        half = np.fft.rfft(x, n, last)
        for d, size in rest:                   # what rfftn does, with fewer questions
            half = np.fft.fft(half, size, d)
        half = half.astype(dtype, copy=False)
        if factor is not None:
            half *= factor
        if kept == n:
            return [half]
        shape = list(half.shape)
        shape[last] = n
        out = np.empty(shape, dtype)
        out[first] = half
        for to, by in mirrored:
            np.conjugate(half[by], out[to])
        return [out]
    return run


def _at(place, d, part):
    return [*place[:d], part, *place[d + 1:]]


def _mirrored(dims, to, by):
    """Where conjugates of the first half are in the second, and where these are: other transformed dimensions from behind, all but what
    is first."""
    if not dims:
        return [(tuple(to), tuple(by))]
    (d, n), *dims = dims
    pairs = _mirrored(dims, _at(to, d, slice(1)), _at(by, d, slice(1)))
    return pairs + _mirrored(dims, _at(to, d, slice(1, None)), _at(by, d, slice(None, 0, -1))) if n > 1 else pairs


def of_complex(dims, sizes, factor, dtype, forward):
    """The same of complex numbers, or its inverse without a factor of its own."""
    transform, norm = (np.fft.fft, None) if forward else (np.fft.ifft, "forward")
    parts, factor = [*zip(dims, sizes)][::-1], None if factor is None else dtype.type(factor).real

    def run(x):
        for d, n in parts:
            x = transform(x, n, d, norm)
        x = x.astype(dtype, copy=False)
        return [x if factor is None else np.multiply(x, factor, out=x)]
    return run


def to_real(dims, sizes, factor, dtype, last):
    """`last` real numbers along the last of `dims` from the half of their transform that tells everything."""
    parts, factor = [*zip(dims, sizes)][:-1], None if factor is None else dtype.type(factor)

    def run(x):
        for d, n in parts:
            x = np.fft.ifft(x, n, d, "forward")
        x = np.fft.irfft(x, last, dims[-1], "forward").astype(dtype, copy=False)
        return [x if factor is None else np.multiply(x, factor, out=x)]
    return run
