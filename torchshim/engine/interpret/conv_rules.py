"""The NumPy rule for convolution: matrix products of as few copies of the input as they can do with.

All forms that `lax.conv_general_dilated` takes are brought to one of three, for each group; small ones are those of `columns`.

_correlation   few taps. The input is copied once for each tap of the last dimension, rows one after the other; the taps of the other
               dimensions are then windows of that copy, which need no copy of their own. With few channels, whose thin products would
               cost more, or few places, each result's column is copied.
_outer         many taps, few results: a weight's gradient. The same copy, times the other operand's rows.
_spread        a spaced input, as in transposed convolutions and inputs' gradients, or few filters over many channels: a product of the
               input as it is, whose results are added where they belong.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from jax import lax

from ..pool import parts, together
from . import columns, depthwise
from .array_rules import compute_dtype, pad_plan
from .copies import contiguous
from .rules import rule

_DEEP, _DEEP_VOLUME = 40, 12           # a product with so many terms is worth a call of its own; one over a volume
_FILTERS = 8               # filters of a channel from which on a matrix product is faster than sums over the taps
_CHANNELS = 12             # channels of a filter, likewise
_TAPS = 64                 # taps from which on there must be as many results: each is a call
_INTEGERS = 1 << 22        # terms from which on products of integers, for which there is no BLAS, are XLA's
_WORTH = 1 << 23           # terms of a group from which on several threads take parts of it
_PRODUCTS = 1 << 17        # elements of products of samples that are made at once, and then added
_LEAST = 16                # filters that are worth the columns, where a part is some of them


@rule("conv_general_dilated")
def make_conv(params, ins, outs):
    lhs, rhs = ins
    out_dtype = outs[0].dtype
    work = compute_dtype(ins, out_dtype)
    precision = params["precision"]
    for p in precision if isinstance(precision, (tuple, list)) else (precision,):
        if p is not None and not isinstance(p, lax.Precision):
            return None
    lhs_spec, rhs_spec, out_spec = (tuple(map(int, spec)) for spec in params["dimension_numbers"])
    features, batches = params["feature_group_count"], params["batch_group_count"]
    groups = features * batches                # one of them is 1
    x_shape, w_shape = tuple(lhs.shape[d] for d in lhs_spec), tuple(rhs.shape[d] for d in rhs_spec)
    out_shape = tuple(outs[0].shape[d] for d in out_spec)
    terms = math.prod(out_shape) * math.prod(w_shape[1:])
    if work is None or 0 in out_shape or 0 in w_shape or len(out_shape) < 3 or work.kind not in "fc" and terms > _INTEGERS:
        return None
    count, channels = x_shape[0] // batches, x_shape[1] // features
    kernel, filters = w_shape[2:], w_shape[0] // groups
    sizes = params["window_strides"], params["padding"], params["lhs_dilation"], params["rhs_dilation"], work
    one, several = _forms((count, channels, *x_shape[2:]), (filters, channels, *kernel), out_shape[2:], *sizes)
    if one is None:
        return None
    whole = None
    # more filters of one channel, or more channels of one filter, are a matrix
    single = filters == 1 and channels < _CHANNELS or channels == 1 and filters < _FILTERS
    taps = math.prod(kernel)
    if features > 1 and single and taps <= max(math.prod(out_shape[2:]), _TAPS) and work.kind == "f":
        whole = depthwise.correlation(x_shape, w_shape, out_shape[2:], groups, *sizes)
    elif batches > 1 and count == 1 and filters < _FILTERS and work.kind == "f":
        whole = depthwise.weights(x_shape, w_shape, out_shape[2:], *sizes)
    restore = tuple(np.argsort(out_spec).tolist())

    def conv(x, w):
        x, w = x.transpose(lhs_spec).astype(work, copy=False), w.transpose(rhs_spec).astype(work, copy=False)
        if whole is not None or groups == 1 and several is None:
            result = contiguous((one if whole is None else whole)(x, w).transpose(restore))
        else:
            result = np.empty(outs[0].shape, work)
            places = result.transpose(out_spec)
            for g in range(groups):
                part = slice(g * filters, (g + 1) * filters)
                xs = x[g * count:(g + 1) * count] if batches > 1 else x[:, g * channels:(g + 1) * channels]
                if several is None:
                    places[:, part] = one(xs, w[part])
                else:
                    several(xs, w[part], places[:, part])
        return result.astype(out_dtype, copy=False)

    return conv


def _forms(x, w, out, *sizes):
    """(`_form`; a function of the same and of where the result goes, in which several threads each compute some of the samples, or of the
    filters where samples are few, or None where that is not worth it)."""
    one = _form(x, w, out, *sizes)
    by_filters = x[0] < w[0] // _LEAST
    cut = parts(w[0], _LEAST) if by_filters else parts(x[0])
    if one is None or len(cut) == 1 or x[0] * math.prod(w) * math.prod(out) < _WORTH:
        return one, None
    forms = {n: _form(x, (n, *w[1:]), out, *sizes) if by_filters else _form((n, *x[1:]), w, out, *sizes)
             for n in {part.stop - part.start for part in cut}}

    def several(xs, ws, places):
        def job(part):
            form = forms[part.stop - part.start]
            if by_filters:
                places[:, part] = form(xs, ws[part])
            else:
                places[part] = form(xs[part], ws)
        together(job, cut)

    return one, None if None in forms.values() else several


def _form(x, w, out, strides, padding, spacing, dilation, work):
    """The function for these shapes of one group: of (N, C, ...) and (O, C, ...) the result (N, O, ...)."""
    if any(s > 1 for s in spacing):
        if math.prod(w[2:]) > math.prod(out):
            return None if any(d > 1 for d in dilation) else _swapped(x, w, out, strides, padding, spacing, dilation, work)
        return _spread(x, w, out, padding, spacing, dilation, work) if all(s == 1 for s in strides) else None
    if all(k == 1 for k in w[2:]) and all(s == 1 for s in strides) and not any(map(any, padding)):
        return _pointwise(w, out)
    if math.prod(w[2:]) > math.prod(out) >= math.prod(x[2:]):      # most of what results read is padding, too
        form = _swapped(x, w, out, strides, padding, spacing, dilation, work)
        if form is not None:
            return form
    if math.prod(w[2:]) > math.prod(out):
        whole = all(k == 1 for k in out) and w[2:] == x[2:] and not any(map(any, padding))
        return _outer_of_points if whole else _outer(x, w, out, strides, padding, dilation, work)
    if math.prod(w[2:]) > math.prod(x[2:]):    # most of what the taps visit is padding
        form = _swapped(x, w, out, strides, padding, spacing, dilation, work)
        if form is not None:
            return form
    if 4 * w[0] <= x[1] and all(s == 1 for s in strides):          # few results of many channels: they are fewer than the copies
        return _spread(x, w, out, padding, spacing, dilation, work)
    return _correlation(x, w, out, strides, padding, dilation, work)


def _pointwise(w, out):
    def pointwise(x, w):
        weights, rows = np.ascontiguousarray(w.reshape(w.shape[:2])), x.reshape(*x.shape[:2], -1)
        return np.matmul(weights, rows).reshape(len(x), len(w), *out)

    return pointwise


def _outer_of_points(x, w):
    if len(x) < len(w):                        # BLAS takes less time to turn the smaller one round
        return _outer_of_points(w, x).swapaxes(0, 1)
    left, right = [a.swapaxes(0, 1).reshape(a.shape[1], len(a), -1) for a in (x, w)]
    chunk, total = max(1, _PRODUCTS // max(1, len(x) * len(w))), None
    for n in range(0, len(left), chunk):
        products = np.matmul(left[n:n + chunk], right[n:n + chunk].swapaxes(1, 2))
        if total is not None:
            products[0] += total
        total = np.add.reduce(products, 0) if len(products) > 1 else products[0]
    return total.reshape(*total.shape, *(1,) * (x.ndim - 2))


class _Rows:
    """The copy of an input, one sample after the other: (taps of the last dimension, channels, outer dimensions, rows, columns), in which
    the rows that a window visits lie side by side, whatever its stride."""

    def __init__(self, x, kernel, out, strides, padding, dilation, work):
        self.work, self.taps, self.out = work, kernel[-1], out
        whole, into, self.source = pad_plan(x[1:], [(0, 0, 0)] + [(a, b, 0) for a, b in padding])
        self.padded = whole if any(map(any, padding)) else None
        self.into = into and (slice(None), *into)
        self.source = into and (slice(None), *self.source)
        channels, columns, step = x[1], out[-1], strides[-1]
        self.columns = [slice(j * dilation[-1], j * dilation[-1] + (columns - 1) * step + 1, step) for j in range(self.taps)]
        sizes = whole[1:]
        # rows by their remainder, so that those at a stride are side by side
        if len(out) > 1:
            rows, step = sizes[-2], strides[-2]
            self.phases = [slice(p, rows, step) for p in range(min(step, rows))]
            self.many = -(-rows // step)
        else:
            self.phases, self.many = None, 1
        outer = sizes[:-2]
        self.shape = (self.taps, channels, *outer, len(self.phases or (1,)), self.many, columns)
        self.depth = self.taps * channels
        plane = len(self.phases or (1,)) * self.many * columns
        steps = [plane * math.prod(outer[d + 1:]) for d in range(len(outer))]
        self.view = (*out[:-2], self.depth, math.prod(out[-2:]))
        self.view_steps = (*(s * t for s, t in zip(steps, strides)), math.prod(self.shape[2:]), 1)
        self.offsets = []                      # where the window of each tap of the other dimensions begins
        for tap in itertools.product(*map(range, kernel[:-1])):
            at = sum(t * d * s for t, d, s in zip(tap[:-1], dilation, steps)) if len(out) > 1 else 0
            if len(out) > 1:
                row, step = tap[-1] * dilation[-2], strides[-2]
                at += (row % step * self.many + row // step) * columns
            self.offsets.append(at)
        self.elements = math.prod(self.shape)

    def buffers(self, count):
        """(where padded samples go, where copies go) for so many samples at once."""
        flat = np.empty(count * self.elements, self.work)
        rows = flat.reshape(count, *self.shape)
        return (None if self.padded is None else np.zeros((count, *self.padded), self.work)), rows, flat

    def fill(self, x, padded, rows):
        if padded is not None:
            if self.into is not None:
                padded[self.into] = x[self.source]
            x = padded
        for j, taken in enumerate(self.columns):
            part = x[..., taken]
            if self.phases is None:
                rows[:, j, ..., 0, 0, :] = part
            else:
                for p, phase in enumerate(self.phases):
                    some = part[..., phase, :]
                    rows[:, j, ..., p, :some.shape[-2], :] = some

    def windows(self, flat, count):
        """A view (samples, outer results, depth, results) for each tap of the other dimensions."""
        size = flat.itemsize
        steps = (self.elements * size, *(s * size for s in self.view_steps))
        for at in self.offsets:
            yield columns.view(flat[at:], (count, *self.view), steps)


def _correlation(x, w, out, strides, padding, dilation, work):
    kernel = w[2:]
    deep = x[1] * kernel[-1] >= (_DEEP if len(kernel) == 2 else _DEEP_VOLUME) and len(kernel) > 1
    if not deep or columns.few_places(x[0], out) or columns.elements(x, kernel, out) <= columns.SMALL:
        return columns.correlation(x, w, out, strides, padding, dilation, work)
    rows = _Rows(x, kernel, out, strides, padding, dilation, work)
    samples, filters = x[0], w[0]
    outer = len(out[:-2])
    windows = len(rows.offsets)
    chunk = max(1, min(samples, columns.CHUNK // rows.elements))
    turn = (0, outer + 1, *range(1, outer + 1), outer + 2)

    def correlation(x, w):
        # (O, C, ..., last) -> a matrix for each tap but the last dimension's: (taps, O, last tap and channel)
        weights = np.ascontiguousarray(w.reshape(filters, x.shape[1], windows, rows.taps).transpose(2, 0, 3, 1))
        weights = weights.reshape(windows, filters, rows.depth)
        result = np.empty((samples, *out[:-2], filters, math.prod(out[-2:])), work)
        padded, copies, flat = rows.buffers(chunk)
        more = np.empty((chunk, *result.shape[1:]), work)
        for start in range(0, samples, chunk):
            n = min(chunk, samples - start)
            rows.fill(x[start:start + n], None if padded is None else padded[:n], copies[:n])
            into = result[start:start + n]
            for k, window in enumerate(rows.windows(flat, n)):
                if k:
                    into += np.matmul(weights[k], window, out=more[:n])
                else:
                    np.matmul(weights[0], window, out=into)
        return result.transpose(turn).reshape(samples, filters, *out)

    return correlation


def _outer(x, w, out, strides, padding, dilation, work):
    """The roles of taps and results are swapped: results are few, and a copy holds what each of them reads."""
    taps = w[2:]
    if columns.few_places(x[1], taps) or columns.elements((x[1], x[0]), out, taps) <= columns.SMALL:
        return columns.outer(x, w, out, strides, padding, dilation, work)
    rows = _Rows((x[1], x[0], *x[2:]), out, taps, dilation, padding, strides, work)
    samples, channels, filters = x[1], x[0], w[0]
    summed = tuple(range(1 + len(taps[:-2])))
    chunk = max(1, min(samples, columns.CHUNK // rows.elements))

    def outer(x, w):
        x, w = x.swapaxes(0, 1), w.swapaxes(0, 1)
        total = np.zeros((len(rows.offsets), rows.depth, filters), work)
        padded, copies, flat = rows.buffers(chunk)
        for start in range(0, samples, chunk):
            n = min(chunk, samples - start)
            rows.fill(x[start:start + n], None if padded is None else padded[:n], copies[:n])
            # (samples, filters, outer, inner) -> (samples, outer, inner, filters)
            right = np.moveaxis(w[start:start + n].reshape(n, filters, *taps[:-2], math.prod(taps[-2:])), 1, -1)
            for k, window in enumerate(rows.windows(flat, n)):
                total[k] += np.matmul(window, right).sum(summed)
        total = total.reshape(*out[:-1], out[-1], channels, filters)
        return np.moveaxis(total, (-2, -1), (0, 1))

    return outer


def _swapped(x, w, out, strides, padding, spacing, dilation, work):
    """More taps than results, or than inputs: the input is the kernel, mirrored, and the kernel the input."""
    ends = [((n - 1) * s - a, 0) for n, s, (a, _) in zip(out, strides, padding)]
    pads = []
    for (low, _), n, s, taps, wide, inputs, gap in zip(ends, out, strides, w[2:], dilation, x[2:], spacing):
        reach = (n - 1) * s + (inputs - 1) * gap + 1               # what the windows visit
        pads.append((low, reach - low - (taps - 1) * wide - 1))
    inner = _form((w[0], w[1], *w[2:]), (x[0], x[1], *x[2:]), out, strides, pads, dilation, spacing, work)
    if inner is None:
        return None
    back = (slice(None), slice(None)) + (slice(None, None, -1),) * len(out)
    return lambda x, w: inner(w, x).swapaxes(0, 1)[back]


def _spread(x, w, out, padding, spacing, dilation, work):
    samples, channels, *sizes = x
    filters, _, *kernel = w
    depth, inner = filters * math.prod(kernel), math.prod(sizes)
    if samples * depth * inner <= columns.SMALL:
        return columns.spread(x, w, out, padding, spacing, dilation, work)
    every = columns.places(x, kernel, out, padding, spacing, dilation)
    chunk = max(1, min(samples, columns.CHUNK // max(1, depth * inner)))

    def spread(x, w):
        weights = np.moveaxis(w, 1, -1).reshape(-1, channels)
        result = np.zeros((samples, filters, *out), work)
        products = np.empty((chunk, depth, inner), work)
        shaped = products.reshape(chunk, filters, *kernel, *sizes)
        for start in range(0, samples, chunk):
            n = min(chunk, samples - start)
            np.matmul(weights, x[start:start + n].reshape(n, channels, inner), out=products[:n])
            into = result[start:start + n]
            for tap, at, source in every:
                into[(slice(None), *at)] += shaped[(slice(n), slice(None), *tap)][(slice(None), *source)]
        return result

    return spread
