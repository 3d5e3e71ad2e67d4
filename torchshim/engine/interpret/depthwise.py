"""Convolutions of each channel with a filter of its own: sums over the taps of whole planes, where matrix products would be vectors.

The channels of a block are padded into planes whose rows lie one after the other. The elements that a tap meets are then one run of memory;
what it makes of the padding at the ends of rows is left out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from .array_rules import pad_plan

_BLOCK = 1 << 15           # elements of a block
_TAPS = 64                 # up to which each element of a block gets weights of its own


class _Planes:
    """Arrays (channels, ...) padded, channel by channel. At a stride, the elements whose places leave the same rest are planes of their
    own: what a tap meets is a run of one of them."""

    def __init__(self, sizes, kernel, out, strides, padding, spacing, dilation, work):
        self.work = work
        self.padded, into, source = pad_plan(sizes, [(a, b, s - 1) for (a, b), s in zip(padding, spacing)])
        self.into, self.source = into and into[:-1], into and source[:-1]         # without the dots
        self.flat = all([s == 1 for s in strides])
        self.sizes = tuple([-(-n // s) for n, s in zip(self.padded, strides)])
        self.size = math.prod(self.sizes)
        pitch = [math.prod(self.sizes[d + 1:]) for d in range(len(sizes))]
        self.run = sum([(n - 1) * p for n, p in zip(out, pitch)]) + 1
        taps = [[t * d for t, d in zip(tap, dilation)] for tap in itertools.product(*map(range, kernel))]
        rests = [tuple([t % s for t, s in zip(tap, strides)]) for tap in taps]
        self.rests = list(dict.fromkeys(rests))
        self.every = [tuple([slice(r, None, s) for r, s in zip(rest, strides)]) for rest in self.rests]
        self.plane_of = [self.rests.index(rest) for rest in rests]
        self.starts = [sum([t // s * p for t, s, p in zip(tap, strides, pitch)]) for tap in taps]
        self.windows = [tuple([slice(t // s, t // s + n) for t, n, s in zip(tap, out, strides)]) for tap in taps]
        self.inner = (slice(None), *map(slice, out))

    def buffers(self, *shape):
        """Zeros: what is padded, of which `shape` is the part before the sizes, and a plane for each rest."""
        return [np.zeros((*shape, *sizes), self.work) for sizes in (self.padded, *[self.sizes] * (0 if self.flat else len(self.rests)))]

    def of(self, x, buffer):
        """`x` in the padded `buffer`, whose padding is zero."""
        if self.into is not None:
            more = (slice(None),) * (x.ndim - len(self.into))
            buffer[more + self.into] = x[more + self.source]
        return buffer

    def split(self, x, buffers):
        """The planes of `x` padded, in `buffers` or the first so many of their channels."""
        filled = self.of(x, buffers[0][:len(x)])
        if self.flat:
            return [filled]
        planes = [b[:len(x)] for b in buffers[1:]]
        for plane, every in zip(planes, self.every):
            part = filled[(..., *every)]
            plane[(..., *map(slice, part.shape[x.ndim - len(every):]))] = part
        return planes


def correlation(x, w, out, groups, strides, padding, spacing, dilation, work):
    """The function of inputs (N, C, ...) and weights (O, C / groups, *kernel) that gives (N, O, *out); each channel has filters of its own,
    or several have one."""
    ones = (1,) * len(out)
    if any([s > 1 for s in spacing]) and tuple(strides) == tuple(dilation) == ones:
        return _between(x, w, out, groups, padding, spacing, work)
    planes, (filters, each) = _Planes(x[2:], w[2:], out, strides, padding, spacing, dilation, work), w[:2]
    count, many = x[0], x[1] if each > 1 else filters
    channels = max(1, min(many, _BLOCK // max(planes.size, 1)))
    blocks = [slice(c, min(c + channels, many)) for c in range(0, many, channels)]

    together = len(planes.starts) <= _TAPS

    def conv(xs, w):
        if many > xs.shape[1]:
            xs = np.repeat(xs, many // groups, 1)
        result, taps = np.empty((count, many, *out), work), np.ascontiguousarray(w.reshape(many, -1).T)
        buffers = planes.buffers(channels)
        total, part = [np.empty((channels, planes.size), work) for _ in range(2)]
        for block in blocks:
            size = block.stop - block.start
            if together:                       # all channels as one run, each element with a weight of its own
                shape, length = (-1,), (size - 1) * planes.size + planes.run
                weights = np.repeat(taps[:, block], planes.size, 1)[:, :length]
            else:
                shape, length, weights = (size, -1), planes.run, taps[:, block, None]
            made, more = [a[:size].reshape(shape)[..., :length] for a in (total, part)]
            for n in range(count):
                rows = [plane.reshape(shape) for plane in planes.split(xs[n, block], buffers)]
                met = [rows[k][..., start:start + length] for k, start in zip(planes.plane_of, planes.starts)]
                np.multiply(met[0], weights[0], out=made)
                for seen, weight in zip(met[1:], weights[1:]):
                    made += np.multiply(seen, weight, out=more)
                result[n, block] = total[:size].reshape(size, *planes.sizes)[planes.inner]
        return result if each == 1 else np.add.reduce(result.reshape(count, groups, each, *out), 2)

    return conv


def _between(x, w, out, groups, padding, spacing, work):
    """`correlation` at stride 1 of inputs with zeros between them: results whose places leave the same rest meet the same taps, and no
    zeros."""
    parts, ones = [], (1,) * len(out)
    for rests in itertools.product(*map(range, spacing)):
        firsts = [(low - r) % s for (low, _), r, s in zip(padding, rests, spacing)]
        kernel = [len(range(f, k, s)) for f, k, s in zip(firsts, w[2:], spacing)]
        count = [len(range(r, n, s)) for r, n, s in zip(rests, out, spacing)]
        if 0 in count:
            continue
        before = [(low - r - f) // s for (low, _), r, f, s in zip(padding, rests, firsts, spacing)]
        around = [(b, n + k - 1 - m - b) for b, n, k, m in zip(before, count, kernel, x[2:])]
        one = None if 0 in kernel else correlation(x, (*w[:2], *kernel), tuple(count), groups, ones, around, ones, ones, work)
        at = (..., *[slice(r, None, s) for r, s in zip(rests, spacing)])
        parts.append((at, (..., *[slice(f, None, s) for f, s in zip(firsts, spacing)]), one))

    def conv(xs, w):
        result = np.empty((len(xs), len(w), *out), work)
        for at, taps, one in parts:
            result[at] = 0 if one is None else one(xs, np.ascontiguousarray(w[taps]))
        return result

    return conv


def weights(x, w, out, strides, padding, spacing, dilation, work):
    """The function of inputs (C, N, ...) and cotangents (O, N, *given) that gives, for each channel, the sums (1, O, *out) over all
    places of their products."""
    given, samples, many = w[2:], x[1], w[0]
    planes = _Planes(x[2:], out, given, dilation, padding, spacing, strides, work)
    channels = max(1, min(many, _BLOCK // max(planes.size * samples, 1)))
    blocks = [slice(c, min(c + channels, many)) for c in range(0, many, channels)]

    def conv(xs, ct):
        if many > len(xs):
            xs = np.repeat(xs, many // len(xs), 0)
        result = np.empty((1, many, math.prod(out)), work)
        buffers = planes.buffers(channels, samples)

        def window_by_window():
            for block in blocks:
                met, size = planes.split(xs[block], buffers), block.stop - block.start
                for k, (plane, window) in enumerate(zip(planes.plane_of, planes.windows)):
                    result[0, block, k] = np.add.reduce((met[plane][(..., *window)] * ct[block]).reshape(size, -1), 1)
            return result.reshape(1, many, *out)

        if not planes.flat:
            return window_by_window()
        spread = np.zeros((channels, samples, *planes.padded), work)
        for block in blocks:
            size = block.stop - block.start
            filled = planes.of(xs[block], buffers[0][:size]).reshape(size, samples, -1)
            spread[(slice(size), *planes.inner)] = ct[block]
            runs = spread[:size].reshape(size, samples, -1)[:, :, :planes.run]
            for k, start in enumerate(planes.starts):
                result[0, block, k] = np.add.reduce(np.vecdot(filled[:, :, start:start + planes.run], runs), 1)
        # what is not finite has met the zeros between rows
        return result.reshape(1, many, *out) if np.isfinite(result).all() else window_by_window()

    return conv
