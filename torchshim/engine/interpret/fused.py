"""Whole operators as one NumPy function: what is normalised over rows, in blocks that stay in the processor's memory.

Step by step each would read and write everything five to ten times, and pay as many calls. A maker takes sizes and a dtype (float32 or
float64) and returns a function of contiguous arrays of any shape, which may be JAX's; `ops` names them in its declarations.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from .. import pool
from ..errorfunction import into as erf_into
from .copies import contiguous, scratch
from .kept import Kept
from .sum_rules import _last, _middle, _ones

_ndarray = np.ndarray
_BLOCK = 1 << 15           # elements of a block
_ROWS = 1 << 16            # of a block of rows of which there are two arrays
_TOGETHER = 8              # rows that BLAS adds in one way: in a block, those that are left over go another
_STRETCH = 1 << 15         # of a block of which there are several copies
_LANES = 1 << 13           # rows up to this length have their squares added in lanes without loss
_WIDE = any(["512" in name or name == "X86_V4" for name in np.show_config("dicts").get("SIMD Extensions", {}).get("found", ())])
_SHORT = 1 << 11 if _WIDE else 400     # rows up to this length have their maximum found sooner by where it is: with AVX-512, longer ones
_BROAD = 512               # rows up to this length are summed by a single product
_NARROW, _SEVERAL = 64, 160 # rows shorter than this, of which there are so many, have their maximum found column by column
_FEW = 1 << 13             # elements of short rows of which the calls are most of what they cost
_SPREAD = 128              # rows shorter than this meet a column that is written out: NumPy begins anew with each row


def _contiguous(x, shape):
    if x.__class__ is _ndarray and x.shape == shape and x.flags.c_contiguous:
        return x                               # for a quarter of what the calls of NumPy take
    return contiguous(np.asarray(x)).reshape(shape)


@functools.lru_cache(maxsize=256)
def _summed(rows, n, dtype):
    """The sums of the rows of a matrix."""
    if n <= _BROAD:
        ones = _ones(n, dtype)
        return lambda x: x.dot(ones)
    return _last(rows, n, dtype)


@functools.lru_cache(maxsize=64)
def _starts(rows, n):
    starts = np.arange(0, rows * n, n)
    starts.flags.writeable = False
    return starts


def _peak(x):
    """The greatest of each row of a contiguous matrix, as a column; nan where there is one."""
    rows, n = x.shape
    if n > _SHORT:
        return np.maximum.reduce(x, 1, keepdims=True)
    if n < _NARROW and rows >= _SEVERAL:
        return np.maximum.reduce(np.ascontiguousarray(x.T), 0).reshape(rows, 1)
    at = x.argmax(1)
    at += _starts(rows, n)
    return x.reshape(-1)[at].reshape(rows, 1)


def _spread(column, rows):
    """A column, or one of its elements for each of a matrix's."""
    if rows.shape[1] >= _SPREAD:
        return column
    return column.repeat(rows.shape[1]).reshape(rows.shape)


def _by_blocks(rows, n):
    """The slices of rows that are worked on together; None: all at once."""
    return _cut(rows, max(1, (pool.BLOCK if pool.worth(rows * n) else _ROWS) // max(n, 1) // _TOGETHER * _TOGETHER))


def _cut(rows, step):
    return None if rows <= step + step // 2 else [slice(k, min(k + step, rows)) for k in range(0, rows, step)]


def _over(blocks, one):
    """`one`, which works on rows of its arguments, over all blocks."""
    if blocks is None:
        return one

    def every(*arrays):
        def job(some):
            for rows in some:
                one(*[a[rows] for a in arrays])
        pool.over(blocks, job, arrays[0].size)
    return every


# ---------------------------------------------------------------- softmax


def softmax(shape, axis, dtype, log=False):
    """softmax, or log_softmax, along an axis."""
    rows, n, inner = _around(shape, axis)
    if inner > 1:
        return _softmax_across(rows, n, inner, dtype, log)
    if rows == 1 and n:
        return _softmax_row(shape, n, dtype, log)

    if rows * n <= _FEW and 0 < n < _SPREAD and (n >= _NARROW or rows < _SEVERAL):
        return _softmax_few(shape, rows, n, dtype, log)

    def one(x, out):
        np.subtract(x, _spread(_peak(x), x), out=out)
        _finish(out, _summed(len(x), n, dtype), log)

    every = _over(_by_blocks(rows, n), one)

    def run(x):
        out = np.empty((rows, n), dtype)
        every(_contiguous(x, (rows, n)), out)
        return [out.reshape(shape)]
    return run


def _softmax_row(shape, n, dtype, log):
    """Of a single row: its calls of NumPy are most of what it takes, and a search for the greatest element the cheapest of them."""
    summed, ones = _summed(1, n, dtype), _ones(n, dtype) if n <= _BROAD else None

    def run(x):
        x = np.asarray(x) if x.__class__ is not np.ndarray else x
        out = np.subtract(x, x.item(x.argmax()))
        if shape != (1, n):
            out = out.reshape(1, n)
        if ones is None:
            _finish(out, summed, log)
        elif log:
            total = np.exp(out).dot(ones)
            np.subtract(out, np.log(total, total), out)
        else:
            np.exp(out, out)
            np.multiply(out, 1 / out.dot(ones), out)
        return [out if shape == (1, n) else out.reshape(shape)]
    return run


def _softmax_few(shape, rows, n, dtype, log):
    """Of a few short rows: the same calls of NumPy with nothing between them."""
    starts, ones, size = _starts(rows, n), _ones(n, dtype), (rows, n)

    def run(x):
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)
        if x.shape != size:
            x = x.reshape(size)
        at = x.argmax(1)
        at += starts
        out = np.subtract(x, x.take(at).repeat(n).reshape(size))
        e = np.exp(out) if log else np.exp(out, out)
        total = e.dot(ones)
        if log:
            np.subtract(out, np.log(total, total).repeat(n).reshape(size), out)
        else:
            np.multiply(out, np.divide(1, total, total).repeat(n).reshape(size), out)
        return [out if shape == size else out.reshape(shape)]
    return run


def _finish(out, summed, log):
    if log:
        total = summed(np.exp(out)).reshape(-1, 1)
        out -= _spread(np.log(total, out=total), out)
    else:
        np.exp(out, out=out)
        total = summed(out).reshape(-1, 1)
        out *= _spread(np.divide(1, total, total), out)        # along the last dimension torch multiplies by the inverse


def _around(shape, axis):
    before = after = 1
    for d, n in enumerate(shape):
        before, after = (before * n, after) if d < axis else (before, after * n) if d > axis else (before, after)
    return before, shape[axis], after


def _softmax_across(rows, n, inner, dtype, log):
    summed = _middle(rows, n, inner, dtype)

    def run(x):
        shape, x = x.shape, _contiguous(x, (rows, n, inner))
        out = x - np.maximum.reduce(x, 1, keepdims=True)
        e = np.exp(out, out=None if log else out)
        total = summed(e).reshape(rows, 1, inner)
        if log:
            out -= np.log(total)
        else:
            out /= total
        return [out.reshape(shape)]
    return run


def softmax_back(shape, axis, dtype, log=False):
    """The gradient of `softmax` from its result and the cotangent."""
    rows, n, inner = _around(shape, axis)
    if inner > 1:
        return _softmax_across_back(rows, n, inner, dtype, log)
    if rows == 1 and 0 < n <= _BROAD:
        return _softmax_row_back(shape, n, dtype, log)

    def one(y, ct, out):
        summed = _summed(len(y), n, dtype)
        if log:
            np.exp(y, out=out)
            out *= _spread(summed(ct).reshape(-1, 1), out)
            np.subtract(ct, out, out=out)
        else:
            np.multiply(y, ct, out=out)
            total = summed(out).reshape(-1, 1)
            np.subtract(ct, _spread(total, out), out=out)
            out *= y

    every = _over(_by_blocks(rows, n), one)

    def run(y, ct):
        out = np.empty((rows, n), dtype)
        every(_contiguous(y, (rows, n)), _contiguous(ct, (rows, n)), out)
        return [out.reshape(shape)]
    return run


def _softmax_row_back(shape, n, dtype, log):
    """Of a single row, with the fewest calls of NumPy."""
    ones, size = _ones(n, dtype), (1, n)

    def run(y, ct):
        y, ct = _contiguous(y, size), _contiguous(ct, size)
        if log:
            out = np.exp(y)
            np.multiply(out, ct.dot(ones), out)
            np.subtract(ct, out, out)
        else:
            out = np.multiply(y, ct)
            np.subtract(ct, out.dot(ones), out)
            np.multiply(out, y, out)
        return [out if shape == size else out.reshape(shape)]
    return run


def _softmax_across_back(rows, n, inner, dtype, log):
    summed = _middle(rows, n, inner, dtype)

    def run(y, ct):
        shape, y, ct = y.shape, _contiguous(y, (rows, n, inner)), _contiguous(ct, (rows, n, inner))
        if log:
            out = np.exp(y)
            out *= summed(ct).reshape(rows, 1, inner)
            return [np.subtract(ct, out, out=out).reshape(shape)]
        out = y * ct
        total = summed(out).reshape(rows, 1, inner)
        np.subtract(ct, total, out=out)
        out *= y
        return [out.reshape(shape)]
    return run


# ---------------------------------------------------------------- normalisation


def _centred(x, n, dtype, eps, out):
    """Writes the centred rows; returns 1 / their standard deviations as a column."""
    np.subtract(x, _spread(_summed(len(x), n, dtype)(x).reshape(-1, 1) / dtype.type(n), out), out=out)
    var = np.vecdot(out, out).reshape(-1, 1) if n <= _LANES else _summed(len(x), n, dtype)(out * out).reshape(-1, 1)
    var /= dtype.type(n)
    var += eps
    np.sqrt(var, out=var)
    return np.divide(dtype.type(1), var, out=var)


def _layer_norm_few(rows, n, shape, dtype, weight, bias):
    """Of a few short rows: the same calls of NumPy with nothing between them."""
    ones, size, count, one = _ones(n, dtype), (rows, n), dtype.type(n), np.ones((), dtype)

    def run(x, *more):
        x = _contiguous(x, size)
        mean = x.dot(ones)
        mean /= count
        out = np.subtract(x, mean.repeat(n).reshape(size))
        scale = np.vecdot(out, out)
        scale /= count
        scale += more[-1].astype(dtype)
        np.sqrt(scale, scale)
        np.divide(one, scale, scale)
        out *= scale.repeat(n).reshape(size)
        if weight:
            out *= np.asarray(more[0]).reshape(-1)
        if bias:
            out += np.asarray(more[int(weight)]).reshape(-1)
        return [out if shape == size else out.reshape(shape)]
    return run


def layer_norm(rows, n, shape, dtype, weight, bias):
    """Rows with zero mean and unit variance, times a weight (if there is one), plus a bias (likewise)."""
    if rows * n <= _FEW and 0 < n < _SPREAD:
        return _layer_norm_few(rows, n, shape, dtype, weight, bias)

    def run(x, *more):
        more = [np.asarray(a) for a in more]
        eps = more[-1].astype(dtype)
        w = more[0].reshape(-1) if weight else None
        b = more[int(weight)].reshape(-1) if bias else None

        def one(x, out):
            out *= _spread(_centred(x, n, dtype, eps, out), out)
            if w is not None:
                out *= w
            if b is not None:
                out += b
        out = np.empty((rows, n), dtype)
        _over(blocks, one)(_contiguous(x, (rows, n)), out)
        return [out.reshape(shape)]

    blocks = _by_blocks(rows, n)
    return run


def layer_norm_back(rows, n, shape, dtype, trailing, weight, wants):
    """Gradients of `layer_norm` from x, the weight (if there is one), the cotangent and eps: those in `wants`, of "x", "weight", "bias",
    of which the latter two have the shape `trailing`."""
    blocks, each = _cut(rows, max(1, _BLOCK // max(n, 1))), dtype.type(1 / n)      # of several arrays
    most = rows if blocks is None else blocks[0].stop

    def run(x, *more):
        more = [np.asarray(a) for a in more]
        eps = more[-1].astype(dtype)
        w = more[0].reshape(-1) if weight else None
        x, ct = _contiguous(x, (rows, n)), _contiguous(more[int(weight)], (rows, n))
        dx = np.empty((rows, n), dtype) if "x" in wants else None
        dw, db = [np.zeros(n, dtype) if what in wants else None for what in ("weight", "bias")]
        centred, product, weighted = [room.reshape(most, n) for room in scratch(3, most * n, dtype)]
        for part in blocks or (slice(None),):
            g = ct[part]
            count = len(g)
            ones, c, t = _ones(count, dtype), centred[:count], product[:count]
            if db is not None:
                db += ones.dot(g)
            if dw is None and dx is None:
                continue
            scale = _spread(_centred(x[part], n, dtype, eps, c), c)
            c *= scale
            if dw is not None:
                dw += ones.dot(np.multiply(g, c, out=t))
            if dx is None:
                continue
            summed = _summed(count, n, dtype)
            if w is not None:
                g = np.multiply(g, w, out=weighted[:count])
            along = summed(np.multiply(g, c, out=t)).reshape(-1, 1)
            along *= each
            c *= _spread(along, c)
            c += _spread(summed(g).reshape(-1, 1) * each, c)
            out = np.subtract(g, c, out=dx[part])
            out *= scale
        made = {"x": dx, "weight": dw, "bias": db}
        return [made[what].reshape(shape if what == "x" else trailing) for what in wants]
    return run


# ---------------------------------------------------------------- GELU, in float32


def _flat(one, spare):
    """A function of arrays of one shape that computes into a new one by blocks: `one` gets its block, theirs, and `spare` more."""
    def run(x, *others):
        if x.size <= _FEW and x.__class__ is _ndarray and x.flags.c_contiguous and all([a.__class__ is _ndarray and a.shape == x.shape
                                                                                      and a.flags.c_contiguous for a in others]):
            out = np.empty_like(x)
            one(out, x, *others, *[np.empty_like(x) for _ in range(spare)])
            return [out]
        flat = [np.ascontiguousarray(a).reshape(-1) for a in (x, *others)]
        out = np.empty_like(flat[0])
        work = out.size << spare               # what needs room on the way takes that much longer
        stretch = min(pool.BLOCK // 2, -(-out.size // (2 * pool.most()))) if pool.worth(work) else _STRETCH

        def job(starts):
            free = scratch(spare, min(out.size, stretch), out.dtype) if spare else []
            for start in starts:
                part = [a[start:start + stretch] for a in (out, *flat)]
                one(*part, *[a[:part[0].size] for a in free])
        pool.over(range(0, out.size, stretch), job, work)
        return [out.reshape(x.shape)]
    return run


_HALF, _ROOT = np.float32(0.5), np.float32(0.5 ** 0.5)
_CUBE, _SLOPE, _PEAK_OF_NORMAL = np.float32(0.044715), np.float32((2 / np.pi) ** 0.5), np.float32((2 * np.pi) ** -0.5)


_kept = Kept(8, 1 << 20)    # 1 + erf(x / sqrt(2)), by x


def _normal(out, x, t, y):
    """1 + erf(x / sqrt(2)) in y."""
    np.multiply(x, _ROOT, out)
    erf_into(out, y, t)
    y += 1


def _gelu(out, x, y, t):
    _normal(out, x, t, y)
    np.multiply(x, _HALF, out)
    out *= y


def _gelu_back(out, x, g, y, t):
    # g (Phi(x) + x phi(x)), in torch's order
    np.multiply(x, x, t)
    t *= -_HALF
    np.exp(t, t)
    t *= _PEAK_OF_NORMAL
    t *= x
    np.multiply(y, _HALF, out)
    out += t
    out *= g


def _gelu_back_alone(out, x, g, t, y):
    _normal(out, x, t, y)
    _gelu_back(out, x, g, y, t)


def gelu(x):
    """x Phi(x)."""
    if not _kept.small((x,)):
        return _gelu_of_many(x)
    normal = np.empty(x.shape, np.float32)
    made = _flat(_gelu, 1)(x, normal)
    _kept.keep((x,), normal)
    return made


def gelu_back(x, g):
    """The gradient of `gelu` from x and the cotangent."""
    normal = _kept.taken((x,))
    return _gelu_back_of_many(x, g) if normal is None else _flat(_gelu_back, 1)(x, g, normal)


def _inner(x, t, y):
    """sqrt(2 / pi) (x + 0.044715 x^3) in y, x^2 in t."""
    np.multiply(x, x, t)
    np.multiply(t, x, y)
    y *= _CUBE
    y += x
    y *= _SLOPE


def _gelu_tanh(out, x, t, y):
    _inner(x, t, y)
    np.tanh(y, y)
    y += 1
    np.multiply(x, _HALF, out)
    out *= y


def _gelu_tanh_back(out, x, g, t, y):
    _inner(x, t, y)
    np.tanh(y, y)
    t *= 3 * _CUBE
    t += 1
    t *= _SLOPE                                # the slope of what tanh is taken of
    np.multiply(y, y, out)
    np.subtract(1, out, out)
    t *= out
    t *= x
    y += 1
    y += t
    y *= _HALF
    np.multiply(g, y, out)


def _sigmoid(x, s):
    """1 / (1 + exp(-x)) in s."""
    np.negative(x, s)
    np.exp(s, s)
    s += 1
    np.divide(1, s, s)


def _silu(out, x):
    np.negative(x, out)
    np.exp(out, out)
    out += 1
    np.divide(x, out, out)


def _silu_back(out, x, g, s):
    # (g s) (1 + x (1 - s)), in torch's order
    _sigmoid(x, s)
    np.subtract(1, s, out)
    out *= x
    out += 1
    s *= g
    out *= s


def many(meta):
    """Whether functions of so many elements are NumPy's own: smaller ones of float32 go by way of float64,
    see elementwise_rules._Rounded."""
    return meta.dtype == np.float32 and meta.numel > 1 << 14 or meta.dtype == np.float64


silu, silu_back = _flat(_silu, 0), _flat(_silu_back, 1)
_gelu_of_many, _gelu_back_of_many = _flat(_gelu, 2), _flat(_gelu_back_alone, 2)
gelu_tanh, gelu_tanh_back = _flat(_gelu_tanh, 2), _flat(_gelu_tanh_back, 2)


# ---------------------------------------------------------------- the greatest of windows


def max_windows(shape, out, kernel, stride, padding, dilation, dtype, placed, slow):
    """The greatest element of each window, and with `placed` the number of the first such element in its plane; a tap at a time, for
    all windows. `slow` computes what holds NaN, and windows of nothing but -inf, of which padding must not be the first."""
    dims = len(kernel)
    plane, count = shape[-dims:], math.prod(shape[:-dims])
    reach = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(out, stride, dilation, kernel)]
    wide = [max(n + p, r) for n, p, r in zip(plane, padding, reach)]
    padded = any(padding) or any([w > n for w, n in zip(wide, plane)])
    inside = tuple([slice(None)] + [slice(p, p + n) for p, n in zip(padding, plane)])
    steps = [math.prod(plane[d + 1:]) for d in range(dims)]
    taps, offsets = [], []
    for tap in itertools.product(*map(range, kernel)):
        firsts = [t * d for t, d in zip(tap, dilation)]
        taps.append((slice(None), *[slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(firsts, out, stride)]))
        offsets.append(sum([f * step for f, step in zip(firsts, steps)]))
    offsets = np.array([0, *offsets[::-1]], np.int64)
    first = np.zeros(out, np.int64)
    for d, n in enumerate(out):
        first += ((np.arange(n) * stride[d] - padding[d]) * steps[d]).reshape([-1 if e == d else 1 for e in range(dims)])
    each = max(1, _BLOCK // math.prod(wide))
    lead = shape[:-dims]

    def run(x):
        values = np.ascontiguousarray(x).reshape(count, *plane)
        top = np.maximum.reduce(values, None)
        if top != top:
            return slow(x)
        best = np.empty((count, *out), dtype)
        places = np.empty((count, *out), np.int64) if placed else None
        source = np.full((min(each, count), *wide), -np.inf, dtype) if padded else None
        for start in range(0, count, each):
            part = values[start:start + each]
            if padded:
                source[:len(part)][inside] = part
                part = source[:len(part)]
            into = best[start:start + each]
            into[...] = part[taps[0]]
            if not placed:
                for tap in taps[1:]:
                    np.maximum(into, part[tap], out=into)
                continue
            copies = [part[tap].copy() for tap in taps]            # they are read twice
            for other in copies:
                np.maximum(into, other, out=into)
            at = np.zeros(into.shape, np.uint8)
            for k, other in enumerate(copies):                     # len(taps) - k where it is the greatest: the first one counts
                np.maximum(at, np.multiply(other == into, np.uint8(len(taps) - k)), out=at)
            np.add(offsets.take(at), first, out=places[start:start + each])
        if padded and np.minimum.reduce(best, None) == -np.inf:
            return slow(x)
        best = best.reshape(*lead, *out)
        return [best, places.reshape(best.shape)] if placed else [best]
    return run


def max_windows_back(shape, dims, dtype):
    """The gradient of `max_windows` where no element is in two windows, from the places and the cotangent of the values."""
    count, plane = math.prod(shape[:-dims]), math.prod(shape[-dims:])
    starts = np.arange(0, count * plane, plane).reshape(count, 1)

    def run(places, g):
        out = np.zeros(count * plane, dtype)
        out[(np.asarray(places).reshape(count, -1) + starts).reshape(-1)] = np.asarray(g).reshape(-1)
        return [out.reshape(shape)]
    return run


def leaky_relu(dtype, slope=None):
    """x, times a slope below 0: this one, or the last argument. One between 0 and 1 needs no choice."""
    known = None if slope is None else np.asarray(slope, dtype)

    def run(x, slope=known):
        x = np.asarray(x)
        if known is None:
            slope = np.asarray(slope).astype(dtype)
        if not 0 < slope <= 1:
            return [np.asarray(np.where(x > 0, x, x * slope))]
        if x.size <= _WHOLE:
            y = np.asarray(x * slope)
            return [np.asarray(np.maximum(x, y, out=y))]
        flat, out = np.ascontiguousarray(x).reshape(-1), np.empty(x.size, dtype)
        stretch = pool.BLOCK // 2 if pool.worth(x.size) else _BLOCK

        def job(starts):
            for start in starts:
                part, into = flat[start:start + stretch], out[start:start + stretch]
                np.maximum(part, np.multiply(part, slope, into), out=into)
        pool.over(range(0, x.size, stretch), job, x.size)
        return [out.reshape(x.shape)]
    return run


_WHOLE = 1 << 17           # elements that stay near anyway
