"""Convolutions of each channel with a filter of its own: sums over the taps of whole planes, where matrix products would be vectors.

The samples of a block of channels are padded into planes that lie one after the other, as do their rows. The elements that a tap meets are
then one run of memory for each channel; what it makes of the padding at the ends of rows is left out.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from .array_rules import pad_plan

_ROOM = 3 << 16            # elements of a block and of what it is computed by, that stay in the processor's memory
_TAPS = 64                 # up to which each element of a block of short runs gets a weight of its own
_SHORT = 400               # elements of a run up to which that is cheaper than to begin anew for each channel
_LANES = 1 << 12           # products that are added in lanes without loss


class _Planes:
    """Arrays (channels, samples, ...) padded. At a stride, the elements whose places leave the same rest are planes of their
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
        self.windows = [(..., *[slice(t // s, t // s + n) for t, n, s in zip(tap, out, strides)]) for tap in taps]
        self.inner = (..., *map(slice, out))

    def buffers(self, *shape):
        """Zeros: what is padded, of which `shape` is the part before the sizes, and a plane for each rest."""
        return [np.zeros((*shape, *sizes), self.work) for sizes in (self.padded, *[self.sizes] * (0 if self.flat else len(self.rests)))]

    def fitting(self, samples, channels, more):
        """How many (samples, channels) a block has, of which there are `more` arrays beside the buffers."""
        each = math.prod(self.padded) + (more + (0 if self.flat else len(self.rests))) * self.size
        some = max(1, min(samples, _ROOM // max(each, 1)))
        return some, max(1, min(channels, _ROOM // max(each * some, 1)))

    def split(self, x, buffers):
        """The planes of `x` padded, in the first so many samples of `buffers`, whose padding is zero."""
        at, (filled, *planes) = tuple(map(slice, x.shape[:2])), buffers
        if self.into is not None:
            filled[at + self.into] = x[(..., *self.source)]
        if self.flat:
            return [filled]
        for plane, every in zip(planes, self.every):
            part = filled[(..., *every)]
            plane[tuple(map(slice, part.shape))] = part
        return planes


def _blocks(samples, channels, count, many):
    return [(slice(n, min(n + samples, count)), slice(c, min(c + channels, many)))
            for c in range(0, many, channels) for n in range(0, count, samples)]


def correlation(x, w, out, groups, strides, padding, spacing, dilation, work):
    """The function of inputs (N, C, ...) and weights (O, C / groups, *kernel) that gives (N, O, *out); each channel has filters of its own,
    or several have one."""
    ones = (1,) * len(out)
    if any([s > 1 for s in spacing]) and tuple(strides) == tuple(dilation) == ones:
        return _between(x, w, out, groups, padding, spacing, work)
    planes, (filters, each) = _Planes(x[2:], w[2:], out, strides, padding, spacing, dilation, work), w[:2]
    count, many = x[0], x[1] if each > 1 else filters
    blocks = _blocks(*planes.fitting(count, many, 2), count, many)

    def conv(xs, w):
        if many > xs.shape[1]:
            xs = np.repeat(xs, many // groups, 1)
        result, taps = np.empty((count, many, *out), work), np.ascontiguousarray(w.reshape(many, -1).T)
        buffers, rooms = functools.cache(planes.buffers), functools.cache(lambda size: np.empty((2, size), work))
        for some, block in blocks:
            samples, channels = some.stop - some.start, block.stop - block.start
            run, weights = samples * planes.size, taps[:, block, None]
            total, part = rooms(channels * run)
            shape, length = (channels, run), run - planes.size + planes.run
            if run <= _SHORT and len(taps) <= _TAPS:               # all channels as one run, each element with a weight of its own
                shape, length = total.shape, total.size - planes.size + planes.run
                weights = np.repeat(taps[:, block], run, 1)[:, :length]
            rows = [plane.reshape(shape) for plane in planes.split(xs[some, block].swapaxes(0, 1), buffers(channels, samples))]
            met = [rows[k][..., start:start + length] for k, start in zip(planes.plane_of, planes.starts)]
            made, more = [a.reshape(shape)[..., :length] for a in (total, part)]
            np.multiply(met[0], weights[0], out=made)
            for seen, weight in zip(met[1:], weights[1:]):
                made += np.multiply(seen, weight, out=more)
            result[some, block] = total.reshape(channels, samples, *planes.sizes)[planes.inner].swapaxes(0, 1)
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
    given, count, many = w[2:], x[1], w[0]
    planes = _Planes(x[2:], out, given, dilation, padding, spacing, strides, work)
    blocks = _blocks(*planes.fitting(count, many, 1), count, many)
    most = max(1, _LANES // max(planes.size, 1))
    together = {m: max([n for n in range(1, min(most, m) + 1) if m % n == 0])      # how many planes' products are one sum
                for m in {some.stop - some.start for some, _ in blocks}}

    def conv(xs, ct):
        if many > len(xs):
            xs = np.repeat(xs, many // len(xs), 0)
        result = np.zeros((1, many, len(planes.starts)), work)
        buffers = functools.cache(lambda *shape: (planes.buffers(*shape), np.zeros((*shape, *planes.sizes), work)))
        for some, block in blocks:
            given, samples, channels = ct[block, some], some.stop - some.start, block.stop - block.start
            filled, spread = buffers(channels, samples)
            spread[planes.inner] = given
            met = planes.split(xs[block, some], filled)
            beside = together[samples]
            shape, length = (channels, samples // beside, -1), (beside - 1) * planes.size + planes.run
            rows, runs = [a.reshape(shape) for a in met], spread.reshape(shape)[..., :length]
            made = np.array([np.vecdot(rows[k][..., start:start + length], runs) for k, start in zip(planes.plane_of, planes.starts)])
            made = np.add.reduce(made, 2)
            if not np.isfinite(made).all():    # what is not finite has met the zeros between rows
                made = np.array([np.add.reduce((met[k][window] * given).reshape(channels, -1), 1)
                                 for k, window in zip(planes.plane_of, planes.windows)])
            result[0, block] += made.T
        return result.reshape(1, many, *out)

    return conv
