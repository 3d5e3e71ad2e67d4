"""Means and sums of squared deviations of rows of float32, in float64, block by block: all at once they would be written down twice as wide."""

from __future__ import annotations

import numpy as np

from .sum_rules import _ones

_BLOCK = 1 << 16           # elements of a block
_WIDE = np.dtype(np.float64)


def moments(rows, n):
    """A function of a contiguous array of so many rows that gives (their means, the sums of the squares of what they are less these)."""
    length = min(n, _BLOCK)
    step = max(1, _BLOCK // length)

    def of(x, means, squares):
        """The same of a block of short rows, into two arrays."""
        wide = x.astype(_WIDE)
        np.divide(wide.dot(_ones(x.shape[1], _WIDE)), x.shape[1], means)
        wide -= means.reshape(-1, 1)
        np.vecdot(wide, wide, out=squares)

    def run(x):
        x, means, squares = x.reshape(rows, n), np.empty(rows, _WIDE), np.empty(rows, _WIDE)
        if n == length:
            for r in range(0, rows, step):
                part = slice(r, r + step)
                of(x[part], means[part], squares[part])
            return means, squares
        mean, square = np.empty(rows, _WIDE), np.empty(rows, _WIDE)
        of(x[:, :length], means, squares)
        for at in range(length, n, length):    # two sets of numbers together (Chan, Golub & LeVeque 1979)
            more = min(length, n - at)
            of(x[:, at:at + more], mean, square)
            mean -= means
            squares += square
            squares += mean * mean * (at * more / (at + more))
            means += mean * (more / (at + more))
        return means, squares
    return run
