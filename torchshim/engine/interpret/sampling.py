"""Images at points between their pixels as one NumPy function: a plane at a time, from places and weights that all channels share.

For the maker see `fused`.
"""

from __future__ import annotations

import math

import numpy as np

from .fused import _contiguous

_BLOCK = 1 << 15           # elements of a block of channels
_FAR = 2.0 ** 30           # coordinates beyond this are no places


def _places(s, clipped, n):
    """(the lower neighbour's number, the weights of the two neighbours) along one dimension of n pixels, in the roundings of the body."""
    if clipped:
        s = np.where(s > 0, np.where(s < n - 1, s, s.dtype.type(n - 1)), s.dtype.type(0))
    low = np.floor(s)
    high = np.subtract(s, low)
    return np.where(np.abs(low) < _FAR, low, s.dtype.type(-100)).astype(np.int64), (1 - high, high)


def bilinear(shape, rows, columns, clipped, align_corners):
    """A function of images (N, C, height, width) and points (N, rows, columns, 2), float32, whose coordinates, those along the width
    first, lie in [-1, 1]. Outside are zeros, or with `clipped` the border."""
    count, channels, height, width = shape
    area, points = height * width, rows * columns
    step = max(1, _BLOCK // max(area, points))

    def source(g, n):
        g = g + np.float32(1)
        if align_corners:
            return g * np.float32((n - 1) / 2)
        return (g.astype(np.float64) * (n / 2) - 0.5).astype(np.float32)

    def along(g, n):
        """The two neighbours' numbers, whether they are pixels, and their weights."""
        low, weights = _places(source(g, n), clipped, n)
        both = low, low + 1
        return [*zip(both, [k.view(np.uint64) < n for k in both], weights)]

    def corners(grid):
        """(places, weights) of the four neighbours of every point; `area` stands for what is outside."""
        down, across, found = along(grid[..., 1], height), along(grid[..., 0], width), []
        for y, y_inside, y_weight in down:
            y = y * width
            for x, x_inside, x_weight in across:
                found.append((np.where(y_inside & x_inside, y + x, area), x_weight * y_weight))
        return found

    def run(image, grid):
        image, grid = _contiguous(image, (count, channels, area)), _contiguous(grid, (count, points, 2))
        out = np.empty((count, channels, points), np.float32)
        planes, taken = np.zeros((min(step, channels), area + 1), np.float32), np.empty((min(step, channels), points), np.float32)
        four = corners(grid)
        for n in range(count):
            for c in range(0, channels, step):
                total = out[n, c:c + step]
                plane, part = planes[:len(total)], taken[:len(total)]
                plane[:, :area] = image[n, c:c + step]
                for k, (places, weights) in enumerate(four):
                    plane.take(places[n], 1, part if k else total, "clip")
                    if k:
                        part *= weights[n]
                        total += part
                    else:
                        total *= weights[n]
        return [out.reshape(count, channels, rows, columns)]
    return run if math.prod(shape) and points else None
