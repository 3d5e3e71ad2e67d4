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

    def __init__(self, sizes, kernel, out, strides, padding, spacing, dilation):
        self.padded, into, source = pad_plan(sizes, [(a, b, s - 1) for (a, b), s in zip(padding, spacing)])
        self.into, self.source = into and into[:-1], into and source[:-1]         # without the dots
        self.size = math.prod(self.padded)
        pitch = [math.prod(self.padded[d + 1:]) for d in range(len(sizes))]
        self.run = sum([(n - 1) * p for n, p in zip(out, pitch)]) + 1
        taps = list(itertools.product(*map(range, kernel)))
        self.starts = [sum([t * d * p for t, d, p in zip(tap, dilation, pitch)]) for tap in taps]
        self.windows = [(..., *[slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, strides)])
                        for tap in taps]
        self.inner = (slice(None), *map(slice, out))
        self.flat = all([s == 1 for s in strides])

    def of(self, x, buffer):
        """`x` in the padded `buffer`, whose padding is zero."""
        if self.into is not None:
            more = (slice(None),) * (x.ndim - len(self.into))
            buffer[more + self.into] = x[more + self.source]
        return buffer


def correlation(x, w, out, groups, strides, padding, spacing, dilation, work):
    """The function of inputs (N, C, ...) and weights (O, C / groups, *kernel) that gives (N, O, *out); each channel has filters of its own,
    or several have one."""
    planes, (filters, each) = _Planes(x[2:], w[2:], out, strides, padding, spacing, dilation), w[:2]
    count, many = x[0], x[1] if each > 1 else filters
    channels = max(1, min(many, _BLOCK // max(planes.size, 1)))
    blocks = [slice(c, min(c + channels, many)) for c in range(0, many, channels)]

    def conv(xs, w):
        if many > xs.shape[1]:
            xs = np.repeat(xs, many // groups, 1)
        result, taps = np.empty((count, many, *out), work), np.ascontiguousarray(w.reshape(many, -1).T)
        padded = np.zeros((channels, *planes.padded), work)
        total, part = [np.empty((channels, planes.size if planes.flat else math.prod(out)), work) for _ in range(2)]
        for n in range(count):
            for block in blocks:
                size = block.stop - block.start
                filled = planes.of(xs[n, block], padded[:size])
                if planes.flat:
                    rows, made, more = filled.reshape(size, -1), total[:size, :planes.run], part[:size, :planes.run]
                    met = [rows[:, start:start + planes.run] for start in planes.starts]
                    weights = taps[:, block, None]
                else:
                    made, more = total[:size].reshape(size, *out), part[:size].reshape(size, *out)
                    met = [filled[window] for window in planes.windows]
                    weights = taps[:, block].reshape(len(taps), size, *(1,) * len(out))
                np.multiply(met[0], weights[0], out=made)
                for seen, weight in zip(met[1:], weights[1:]):
                    made += np.multiply(seen, weight, out=more)
                result[n, block] = total[:size].reshape(size, *planes.padded)[planes.inner] if planes.flat else made
        return result if each == 1 else np.add.reduce(result.reshape(count, groups, each, *out), 2)

    return conv


def weights(x, w, out, strides, padding, spacing, dilation, work):
    """The function of inputs (C, N, ...) and cotangents (O, N, *given) that gives, for each channel, the sums (1, O, *out) over all
    places of their products."""
    given, samples, many = w[2:], x[1], w[0]
    planes = _Planes(x[2:], out, given, dilation, padding, spacing, strides)
    channels = max(1, min(many, _BLOCK // max(planes.size * samples, 1)))
    blocks = [slice(c, min(c + channels, many)) for c in range(0, many, channels)]

    def conv(xs, ct):
        if many > len(xs):
            xs = np.repeat(xs, many // len(xs), 0)
        result = np.empty((1, many, math.prod(out)), work)
        padded = np.zeros((channels, samples, *planes.padded), work)

        def window_by_window():
            for block in blocks:
                filled, size = planes.of(xs[block], padded[:block.stop - block.start]), block.stop - block.start
                for k, window in enumerate(planes.windows):
                    result[0, block, k] = np.add.reduce((filled[window] * ct[block]).reshape(size, -1), 1)
            return result.reshape(1, many, *out)

        if not planes.flat:
            return window_by_window()
        spread = np.zeros((channels, samples, *planes.padded), work)
        for block in blocks:
            size = block.stop - block.start
            filled = planes.of(xs[block], padded[:size]).reshape(size, samples, -1)
            spread[(slice(size), *planes.inner)] = ct[block]
            runs = spread[:size].reshape(size, samples, -1)[:, :, :planes.run]
            for k, start in enumerate(planes.starts):
                result[0, block, k] = np.add.reduce(np.vecdot(filled[:, :, start:start + planes.run], runs), 1)
        # what is not finite has met the zeros between rows
        return result.reshape(1, many, *out) if np.isfinite(result).all() else window_by_window()

    return conv
