"""Normalisation of channels, or of groups of them, as one NumPy function: an array is seen as (samples, groups, channels of a group,
places), and all but the groups is normalised over. For the makers see `fused`.

Sums over places are products with ones; blocks of groups stay in the processor's memory between the passes over them.
"""

from __future__ import annotations

import numpy as np

from .. import pool
from .fused import _LANES, _contiguous
from .sum_rules import _last, _middle

_BLOCK = 1 << 16           # elements of a block: of fewer, the calls cost a fifth more
_FEW = 8                   # places below which calls per channel cost more than passes over everything
_PART = 1 << 12            # terms whose products are added in lanes without loss


def _over_planes(samples, groups, each, places, dtype):
    """The sums over the places of a contiguous array, as (samples, groups, each); over the samples too, where there is one place."""
    if places == 1:
        first = _middle(1, samples, groups * each, dtype)
        return lambda x: first(x).reshape(1, groups, each)
    first = _last(samples * groups * each, places, dtype)
    return lambda x: first(x).reshape(samples, groups, each)


def _dots(x, y):
    """The sums over the last dimension of products."""
    n = x.shape[-1]
    if n <= _LANES:
        return np.vecdot(x, y)
    whole = n - n % _PART
    cut = (*x.shape[:-1], whole // _PART, _PART)
    total = np.add.reduce(np.vecdot(x[..., :whole].reshape(cut), y[..., :whole].reshape(cut)), -1)
    return total if whole == n else total + np.vecdot(x[..., whole:], y[..., whole:])


class _Groups:
    """The sizes, and what is asked of every block of groups."""

    def __init__(self, samples, groups, each, places, dtype):
        self.shape, self.dtype, self.count = (samples, groups, each, places), dtype, dtype.type(samples * each * places)
        self.summed = _over_planes(*self.shape, dtype)
        self.dots = _dots if places > 1 else lambda x, y: self.summed(x * y)
        self.elements = samples * groups * each * places
        step = max(1, (pool.BLOCK if pool.worth(self.elements) else _BLOCK) // (samples * each * places))
        self.step = groups if places == 1 else min(groups, step)
        self.blocks = [slice(g, min(g + self.step, groups)) for g in range(0, groups, self.step)]

    def of(self, x):
        return _contiguous(x, self.shape)

    def means(self, x):
        return np.add.reduce(self.summed(x), (0, 2)) / self.count

    def buffer(self):
        samples, _, each, places = self.shape
        return np.empty((samples, self.step, each, places), self.dtype)

    def centred(self, x, means, block, buffer):
        """(the block less its means, the variances)."""
        c = np.subtract(x[:, block], means[block].reshape(-1, 1, 1), out=buffer[:, :block.stop - block.start])
        return c, np.add.reduce(self.dots(c, c), (0, 2)) / self.count


def few_places(samples, groups, each, places):
    """Whether the functions here are no gain: few places, but more than the one of a batch of vectors."""
    return places < _FEW and (places > 1 or each > 1) or samples * groups * each * places == 0


def forward(samples, groups, each, places, shape, dtype):
    """A function of x, eps, and the weight and the bias of every channel, (groups, each) or None, that gives (result, means, variances)."""
    data = _Groups(samples, groups, each, places, dtype)
    one = dtype.type(1)

    def run(x, eps, weight, bias):
        x = data.of(x)
        out, means, variances = np.empty(data.shape, dtype), data.means(x), np.empty(groups, dtype)

        def job(blocks):
            buffer = data.buffer()
            for block in blocks:
                c, var = data.centred(x, means, block, buffer)
                variances[block] = var
                scale = (one / np.sqrt(var + eps)).reshape(-1, 1)
                if weight is not None:
                    scale = scale * weight[block]
                made = np.multiply(c, scale[..., None], out=out[:, block])
                if bias is not None:
                    made += bias[block][..., None]
        pool.over(data.blocks, job, data.elements)
        return out.reshape(shape), means, variances
    return run


def backward(samples, groups, each, places, shape, dtype, wants):
    """A function of x, the cotangent, eps and the weight that gives the gradients in `wants`, of "x", "weight" and "bias", by name; the
    latter two as (groups, each)."""
    data = _Groups(samples, groups, each, places, dtype)
    one = dtype.type(1)

    def run(x, ct, eps, weight):
        x, ct = data.of(x), data.of(ct)
        given = np.add.reduce(data.summed(ct), 0)
        made = {"bias": given}
        if wants == ["bias"]:
            return made
        dx = made["x"] = np.empty(data.shape, dtype) if "x" in wants else None
        dw = made["weight"] = np.empty((groups, each), dtype)
        means = data.means(x)

        def job(blocks):
            buffer = data.buffer()
            for block in blocks:
                c, var = data.centred(x, means, block, buffer)
                scale = (one / np.sqrt(var + eps)).reshape(-1, 1)
                g = ct[:, block]
                dots = dw[block] = np.add.reduce(data.dots(g, c), 0) * scale
                if dx is None:
                    continue
                sums, outer = given[block], scale
                if weight is not None:
                    w = weight[block]
                    sums, dots, outer = sums * w, dots * w, scale * w
                # scale * (w g - mean(w g) - y mean(w g y)), where y is c * scale
                factor = np.add.reduce(dots, 1, keepdims=True) / data.count * scale * scale
                less = np.add.reduce(sums, 1, keepdims=True) / data.count * scale
                c *= factor[..., None]
                c += less[..., None]
                into = np.multiply(g, outer[..., None], out=dx[:, block])
                into -= c
        pool.over(data.blocks, job, data.elements)
        if dx is not None:
            made["x"] = dx.reshape(shape)
        return made
    return run


def with_given(samples, channels, places, shape, dtype):
    """A function of x, means, scales and biases (or None) of the channels: (x - mean) * scale + bias."""
    sizes = samples, channels, places
    step = max(1, _BLOCK // (channels * places))

    def run(x, mean, scale, bias):
        x, out = _contiguous(x, sizes), np.empty(sizes, dtype)
        mean, scale, bias = [a if a is None or places == 1 else a.reshape(-1, 1) for a in (mean, scale, bias)]
        if places == 1:
            x, out = x.reshape(samples, channels), out.reshape(samples, channels)
        for n in range(0, samples, step):
            made = np.subtract(x[n:n + step], mean, out=out[n:n + step])
            made *= scale
            if bias is not None:
                made += bias
        return out.reshape(shape)
    return run
