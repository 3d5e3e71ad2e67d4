"""Convolutions by what each result reads, its column, for all results in one copy of one strided view, and one matrix product with it.

What such a copy costs are its innermost loops: with short rows and many samples the samples go last. Products whose results are added
where they belong, the transposed convolutions, go the same way. This is for small arrays (conv_rules has the forms for large ones), and
for larger ones of few channels or few places, a block of samples at a time.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from .array_rules import pad_plan

SMALL = 1 << 18            # elements of all columns up to which they are one copy
CHUNK = 1 << 18            # elements of a copy, about, that stay in the processor's memory
FEW = 128                  # places of a sample below which a product of its own is slow: samples go side by side
_BESIDE = 1 << 21          # elements of columns that lie side by side then
_LOOP = 7.0                # nanoseconds that an innermost loop of a copy costs
_TURN = 1.5                # nanoseconds to turn an element round


def elements(x, kernel, out):
    """How many elements the columns have."""
    return x[0] * x[1] * math.prod(kernel) * math.prod(out)


def few_places(samples, out):
    """Whether a sample has so few results that one product for many samples takes less."""
    return samples > 1 and math.prod(out) < FEW


def _samples_last(x, filters, kernel, out, strides):
    """Whether the copy with the samples last is cheaper, though operand and result have to be turned round."""
    samples, every = x[0], elements(x, kernel, out)
    if every > SMALL:
        return few_places(samples, out)
    run = samples * (out[-1] if strides[-1] == 1 else 1)
    return every / run * _LOOP + (math.prod(x) + samples * filters * math.prod(out)) * _TURN < every / out[-1] * _LOOP


def view(array, shape, steps):
    """Elements of `array` from its first on at `steps` of bytes."""
    if array.flags.c_contiguous:
        return np.ndarray(shape, array.dtype, array, 0, steps)         # a fifth of what as_strided takes
    return np.lib.stride_tricks.as_strided(array, shape, steps)


class _Columns:
    """A function of arrays (n, C, ...): their columns (n, C * taps, results), or with the samples last (C * taps, results * n)."""

    def __init__(self, x, kernel, out, strides, padding, dilation, work, last):
        whole, into, source = pad_plan(x[1:], [(0, 0, 0)] + [(a, b, 0) for a, b in padding])
        self.padded = whole if any(map(any, padding)) else None
        every = (slice(None),)
        self.into, self.source = into and (into[:-1] if last else every + into), into and every + source[:-1]
        self.turn = (*range(1, len(x)), 0)
        self.channels, self.kernel, self.out, self.work, self.last = x[1], tuple(kernel), tuple(out), work, last
        self.depth, self.results = x[1] * math.prod(kernel), math.prod(out)
        self.strides, self.dilation = strides, dilation
        self.phases = 0                        # of one dimension at a stride: those elements side by side make runs of memory
        if not last and len(out) == 1 and 1 < strides[0] < kernel[0] and kernel[0] % strides[0] == 0 and dilation[0] == 1:
            self.phases = out[0] - 1 + kernel[0] // strides[0]     # how many there are of each rest

    def beside(self, samples):
        """How many of the samples lie side by side, where they go last."""
        return max(1, min(samples, max(_BESIDE // (self.depth * self.results), 4 * FEW // self.results)))

    def buffer(self, count):
        """Where so many samples are padded, zeros, None without padding."""
        if self.padded is None:
            return None
        return np.zeros((*self.padded, count) if self.last else (count, *self.padded), self.work)

    def __call__(self, x, buffer):
        n = len(x)
        if buffer is not None:
            if not self.last:
                buffer = buffer[:n]
            if self.into is not None:
                part = x[self.source]
                buffer[self.into] = part.transpose(self.turn) if self.last else part
            x = buffer
        elif self.last:
            x = np.ascontiguousarray(x.transpose(self.turn))
        if self.phases:
            rests, (many,) = self.strides[0], self.out
            x = np.ascontiguousarray(x[..., :self.phases * rests].reshape(n, self.channels, self.phases, rests).swapaxes(2, 3))
            outer, channel, rest, one = x.strides
            shape = n, self.channels, self.kernel[0] // rests, rests, many
            return view(x, shape, (outer, channel, one, rest, one)).reshape(n, self.depth, many)
        steps = x.strides
        outer, channel, sizes = (steps[-1], steps[0], steps[1:-1]) if self.last else (steps[0], steps[1], steps[2:])
        inner = (channel, *[s * d for s, d in zip(sizes, self.dilation)], *[s * t for s, t in zip(sizes, self.strides)])
        shape = (self.channels, *self.kernel, *self.out)
        if self.last:
            return view(x, (*shape, n), (*inner, outer)).reshape(self.depth, self.results * n)
        return view(x, (n, *shape), (outer, *inner)).reshape(n, self.depth, self.results)


def correlation(x, w, out, strides, padding, dilation, work):
    """(N, C, ...) and (O, C, ...) to (N, O, ...)."""
    samples, filters = x[0], w[0]
    columns = _Columns(x, w[2:], out, strides, padding, dilation, work, _samples_last(x, filters, w[2:], out, strides))
    if columns.last:
        back, chunk = (len(out) + 1, *range(len(out) + 1)), columns.beside(samples)

        def run(x, w):
            weights, result = w.reshape(filters, -1), np.empty((samples, filters, *out), work)
            for start in range(0, samples, chunk):
                n = min(chunk, samples - start)
                products = weights @ columns(x[start:start + n], columns.buffer(n))
                result[start:start + n] = products.reshape(filters, *out, n).transpose(back)
            return result
    else:
        chunk = max(1, min(samples, CHUNK // (columns.depth * columns.results)))

        def run(x, w):
            weights, buffer = w.reshape(filters, -1), columns.buffer(chunk)
            result = np.empty((samples, filters, columns.results), work)
            for start in range(0, samples, chunk):
                np.matmul(weights, columns(x[start:start + chunk], buffer), out=result[start:start + chunk])
            return result.reshape(samples, filters, *out)

    return run


def outer(x, w, out, strides, padding, dilation, work):
    """The same for few results of many taps, as in weights' gradients: a tap of w (O, C, taps) meets the column (N, results) of x
    (N, C, ...)."""
    # The roles change: what are channels are summed over as samples, the taps are the results
    samples, channels, filters, taps = x[1], x[0], w[0], w[2:]
    last = _samples_last((samples, channels, *x[2:]), filters, out, taps, dilation)
    columns = _Columns((samples, channels, *x[2:]), out, taps, dilation, padding, strides, work, last)
    turn, chunk = (0, *range(2, len(w)), 1), columns.beside(samples)

    def run(x, w):
        x = x.swapaxes(0, 1)
        if last:
            total = 0
            for start in range(0, samples, chunk):
                part = slice(start, min(start + chunk, samples))
                made = columns(x[part], columns.buffer(part.stop - start))
                total = total + w[:, part].transpose(turn).reshape(filters, -1) @ made.T
        else:
            made = columns(x, columns.buffer(samples))
            total = np.matmul(w.swapaxes(0, 1).reshape(samples, filters, -1), made.swapaxes(1, 2)).sum(0)
        return total.reshape(filters, channels, *out).swapaxes(0, 1)

    return run


def places(x, kernel, out, padding, spacing, dilation):
    """[(tap, index of the results, index of the products)] for each tap that reaches any result of a spaced input."""
    found = []
    for tap in itertools.product(*map(range, kernel)):
        into, source = [], []
        for t, d, s, (low, _), n, m in zip(tap, dilation, spacing, padding, x[2:], out):
            shift = low - t * d                # input p goes to s * p + shift
            first = max(0, -(shift // s))
            last = min(n - 1, (m - 1 - shift) // s)
            into.append(slice(s * first + shift, s * last + shift + 1, s) if last >= first else None)
            source.append(slice(first, last + 1))
        if None not in into:
            found.append((tap, (slice(None), *into), (slice(None), *source)))
    return found


def spread(x, w, out, padding, spacing, dilation, work):
    """A spaced input times all taps, the samples last; the products are added where they belong."""
    samples, channels, *sizes = x
    filters, _, *kernel = w
    every = places(x, kernel, out, padding, spacing, dilation)
    rank = len(out)
    taps_first, turn, back = (*range(2, rank + 2), 0, 1), (*range(1, rank + 2), 0), (rank + 1, *range(rank + 1))

    def run(x, w):
        products = w.transpose(taps_first).reshape(-1, channels) @ x.transpose(turn).reshape(channels, -1)
        products = products.reshape(*kernel, filters, *sizes, samples)
        result = np.zeros((filters, *out, samples), work)
        for tap, at, source in every:
            result[at] += products[tap][source]
        return np.ascontiguousarray(result.transpose(back))

    return run
