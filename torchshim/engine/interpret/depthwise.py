"""Convolutions of each channel with a filter of its own: sums over the taps of whole planes, where matrix products would be vectors.

The channels of a block are padded into planes whose rows lie one after the other. At stride 1 the elements that a tap meets are then one
run of memory; what it makes of the padding at the ends of rows is left out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from .array_rules import pad_plan

_BLOCK = 1 << 15           # elements of a block


class _Planes:
    """Arrays (channels, ...) padded, channel by channel."""

    def __init__(self, sizes, kernel, out, strides, padding, dilation):
        self.padded, into, source = pad_plan(sizes, [(a, b, 0) for a, b in padding])
        self.into, self.source = into and into[:-1], into and source[:-1]         # without the dots
        self.size = math.prod(self.padded)
        pitch = [math.prod(self.padded[d + 1:]) for d in range(len(sizes))]
        self.run = sum([(n - 1) * p for n, p in zip(out, pitch)]) + 1
        taps = list(itertools.product(*map(range, kernel)))
        self.starts = [sum([t * d * p for t, d, p in zip(tap, dilation, pitch)]) for tap in taps]
        self.windows = [(slice(None), *[slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, strides)])
                        for tap in taps]
        self.inner = (slice(None), *map(slice, out))
        self.flat = all([s == 1 for s in strides])

    def of(self, x, buffer):
        """`x` in the padded `buffer`, whose padding is zero."""
        if self.into is not None:
            more = (slice(None),) * (x.ndim - len(self.into))
            buffer[more + self.into] = x[more + self.source]
        return buffer


def correlation(x, out, kernel, strides, padding, dilation, work):
    """The function of inputs (N, C, ...) and weights (C, 1, *kernel) that gives (N, C, *out)."""
    planes = _Planes(x[2:], kernel, out, strides, padding, dilation)
    channels = max(1, min(x[1], _BLOCK // max(planes.size, 1)))
    blocks = [slice(c, min(c + channels, x[1])) for c in range(0, x[1], channels)]

    def conv(xs, w):
        result, taps = np.empty((*x[:2], *out), work), np.ascontiguousarray(w.reshape(x[1], -1).T)
        padded = np.zeros((channels, *planes.padded), work)
        total, part = [np.empty((channels, planes.size if planes.flat else math.prod(out)), work) for _ in range(2)]
        for n in range(x[0]):
            for block in blocks:
                count = block.stop - block.start
                filled = planes.of(xs[n, block], padded[:count])
                if planes.flat:
                    rows, made, more = filled.reshape(count, -1), total[:count, :planes.run], part[:count, :planes.run]
                    met = [rows[:, start:start + planes.run] for start in planes.starts]
                    weights = taps[:, block, None]
                else:
                    made, more = total[:count].reshape(count, *out), part[:count].reshape(count, *out)
                    met = [filled[window] for window in planes.windows]
                    weights = taps[:, block].reshape(len(taps), count, *(1,) * len(out))
                np.multiply(met[0], weights[0], out=made)
                for seen, weight in zip(met[1:], weights[1:]):
                    made += np.multiply(seen, weight, out=more)
                result[n, block] = total[:count].reshape(count, *planes.padded)[planes.inner] if planes.flat else made
        return result

    return conv


def weights(x, given, out, padding, work):
    """The function of inputs (C, N, ...) and cotangents (C, N, *given) that gives, for each channel, the sums (1, C, *out) over all
    places, at stride 1, of their products."""
    planes = _Planes(x[2:], out, given, (1,) * len(out), padding, (1,) * len(out))
    channels = max(1, min(x[0], _BLOCK // max(planes.size * x[1], 1)))
    blocks = [slice(c, min(c + channels, x[0])) for c in range(0, x[0], channels)]

    def conv(xs, ct):
        result = np.empty((1, x[0], math.prod(out)), work)
        padded, spread = [np.zeros((channels, x[1], *planes.padded), work) for _ in range(2)]
        for block in blocks:
            count = block.stop - block.start
            filled = planes.of(xs[block], padded[:count]).reshape(count, x[1], -1)
            spread[(slice(count), *planes.inner)] = ct[block]
            runs = spread[:count].reshape(count, x[1], -1)[:, :, :planes.run]
            for k, start in enumerate(planes.starts):
                result[0, block, k] = np.add.reduce(np.vecdot(filled[:, :, start:start + planes.run], runs), 1)
        if not np.isfinite(result).all():      # what is not finite has met the zeros between rows
            for block in blocks:
                filled = planes.of(xs[block], padded[:block.stop - block.start])
                for k, window in enumerate(planes.windows):
                    result[0, block, k] = np.add.reduce(filled[(slice(None), *window)] * ct[block], tuple(range(1, ct.ndim)))
        return result.reshape(1, x[0], *out)

    return conv
