"""Losses of an array and a target as one NumPy function each, in blocks that stay in the processor's memory. For the makers see `fused`."""

from __future__ import annotations

import functools
import math

import numpy as np

from .copies import scratch
from .fused import _BLOCK, _FEW, _NARROW, _SEVERAL, _SPREAD, _by_blocks, _contiguous, _over, _peak, _spread, _starts, _summed
from .kept import Kept
from .sum_rules import _ones


def _elementwise(term, spare):
    """The maker of a loss from `term`, which writes that of a block; it gets (where to, x, target, `spare` arrays, numbers)."""
    @functools.wraps(term)
    def make(shape, dtype, reduction):
        n, kept = math.prod(shape), reduction == "none"
        if n <= _BLOCK:
            return _of_one_block(term, spare, shape, n, dtype, reduction)
        parts = [(slice(at, at + _BLOCK), _summed(1, min(_BLOCK, n - at), dtype)) for at in range(0, n, _BLOCK)]

        def run(x, target, *more):
            x, target = _contiguous(x, (n,)), _contiguous(target, (n,))
            more = [a.astype(dtype) for a in more]
            room = scratch(spare + (not kept), _BLOCK, dtype)
            if kept:
                out = np.empty(n, dtype)
                for part, _ in parts:
                    a = x[part]
                    term(out[part], a, target[part], *[r[:len(a)] for r in room], *more)
                return [out.reshape(shape)]
            total = 0.0
            for part, add in parts:
                a = x[part]
                free = [r[:len(a)] for r in room]
                term(free[0], a, target[part], *free[1:], *more)
                total += add(free[0].reshape(1, -1)).item()
            return [np.asarray(total / n if reduction == "mean" else total, dtype)]
        return run
    return make


def _of_one_block(term, spare, shape, n, dtype, reduction):
    """The same of an array that is one block, with nothing between the calls of NumPy."""
    add = None if reduction == "none" else _summed(1, n, dtype)

    def run(x, target, *more):
        room = [np.empty(n, dtype) for _ in range(spare)] if n < _CLIPS else scratch(spare, n, dtype)
        out = np.empty(n, dtype)
        term(out, _contiguous(x, (n,)), _contiguous(target, (n,)), *room, *[a.astype(dtype) for a in more])
        if add is None:
            return [out.reshape(shape)]
        total = add(out.reshape(1, n)).item()
        return [np.asarray(total / n if reduction == "mean" else total, dtype)]
    return run


def _elementwise_back(slope, spare, divided_last=False):
    """The maker of the gradients of a loss from `slope`, which writes that of x in a block; it gets (where to, x, target, `spare` arrays,
    numbers). The target's, where it is wanted, is the same with another sign. A mean's are divided by the number of elements before the
    product with the slope, or `divided_last`."""
    @functools.wraps(slope)
    def make(shape, dtype, reduction, wants):
        n = math.prod(shape)
        count = np.asarray(n, dtype)
        first, last = (count if reduction == "mean" and divided_last is when else None for when in (False, True))

        def block(out, x, target, ct, room, more):
            slope(out, x, target, *room, *more)
            np.multiply(out, ct, out)
            if last is not None:
                np.divide(out, last, out)

        def run(x, target, ct, *more):
            ct = np.asarray(ct)
            if first is not None:
                ct = np.divide(ct, first)
            if reduction == "none":
                ct = np.ascontiguousarray(ct).reshape(-1)
            more = [a.astype(dtype) for a in more]
            out, room = np.empty(n, dtype), scratch(spare, min(n, _BLOCK), dtype) if spare else ()
            x, target = _contiguous(x, (n,)), _contiguous(target, (n,))
            if n <= _BLOCK:
                block(out, x, target, ct, room, more)
            else:
                for start in range(0, n, _BLOCK):
                    part = slice(start, start + _BLOCK)
                    a = x[part]
                    block(out[part], a, target[part], ct[part] if ct.ndim else ct, [r[:len(a)] for r in room], more)
            out = out.reshape(shape)
            return [out if k == 0 else np.negative(out) for k in wants]
        return run
    return make


_CLIPS = 1 << 12           # elements below which clip's start takes longer


def _smooth(out, x, target, near, half, limit):
    """near * (|x - target| - near / 2), where near is at most `limit`."""
    np.subtract(x, target, out)
    np.abs(out, out)
    if len(out) < _CLIPS:
        np.minimum(out, limit, out=near)
    else:                                      # NumPy's loop for the minimum of a number takes longer
        out.clip(_LEAST[out.dtype], limit, near)
    np.multiply(near, 0.5, half)
    np.subtract(out, half, out)
    np.multiply(out, near, out)


def _smooth_l1(out, x, target, near, half, beta=1.0):
    if not beta > 0:
        np.abs(np.subtract(x, target, out=out), out=out)
        return
    _smooth(out, x, target, near, half, beta)
    if beta != 1:
        out /= beta


def _smooth_l1_back(out, x, target, beta=1.0):
    if not beta > 0:
        np.sign(np.subtract(x, target, out=out), out=out)
        return
    _huber_back(out, x, target, beta)
    if beta != 1:
        out /= beta


def _huber(out, x, target, near, half, delta=1.0):
    _smooth(out, x, target, near, half, delta)


def _huber_back(out, x, target, delta=1.0):
    np.subtract(x, target, out=out)
    np.clip(out, -delta, delta, out=out)


# Arrays, since NumPy takes as long to make one of a number as for a short loop.
_ZEROS, _UNITS, _LEAST = ({np.dtype(t): np.asarray(number, t) for t in (np.float32, np.float64)} for number in (0, 1, -np.inf))


def _entropy(out, x, target, less):
    """(1 - target) * x - log(sigmoid(x))."""
    np.abs(x, less)
    np.negative(less, less)
    np.exp(less, less)
    np.log1p(less, less)
    np.minimum(x, _ZEROS[x.dtype], out=out)
    less -= out
    np.subtract(_UNITS[x.dtype], target, out)
    out *= x
    out += less


def _entropy_back(out, x, target):
    one = _UNITS[x.dtype]
    np.negative(x, out)
    if len(x) < _BLOCK and out.dtype == np.float32:        # NumPy's own misses the last digit now and then
        out[...] = np.exp(out.astype(np.float64))
    else:
        np.exp(out, out)
    out += one
    np.divide(one, out, out)
    out -= target


smooth_l1, smooth_l1_back = _elementwise(_smooth_l1, 2), _elementwise_back(_smooth_l1_back, 0)
huber, huber_back = _elementwise(_huber, 2), _elementwise_back(_huber_back, 0)
entropy, entropy_back = _elementwise(_entropy, 1), _elementwise_back(_entropy_back, 0, divided_last=True)


# ---------------------------------------------------------------- classes

# By logits and classes: exp of what those are less their row's peak, its sums, the classes' places, and which class does not count
_kept = Kept(4, 1 << 18)


def cross_entropy(rows, n, dtype, reduction, ignore_index):
    """Of rows of logits and class numbers: -log_softmax at the class; the mean is over those that count."""
    def one(x, target, loss):
        e = x - _spread(_peak(x), x)
        at = _starts(len(x), n) + target
        np.negative(e.reshape(-1)[at], out=loss)
        np.exp(e, out=e)
        total = _summed(len(x), n, dtype)(e)
        loss += np.log(total)
        return e, total

    every, little = _over(_by_blocks(rows, n), one), rows * max(n * dtype.itemsize, 8) <= _kept.size
    if rows * n <= _FEW and 0 < n < _SPREAD and (n >= _NARROW or rows < _SEVERAL):
        every = _losses_of_few(rows, n, dtype)

    def run(x, target, *_):
        given, target, loss = (x, target), _inside(target, n, ignore_index), np.empty(rows, dtype)
        exponents = every(_contiguous(x, (rows, n)), target.at, loss)
        if exponents is not None and little:
            _kept.keep(given, (*exponents, target, ignore_index))
        if target.kept is not None:
            loss = np.where(target.kept, loss, dtype.type(0))
        if reduction == "none":
            return [loss]
        total = np.add.reduce(loss)
        if reduction == "mean":
            total = total / dtype.type(target.count)
        return [np.asarray(total, dtype)]
    return run


def _losses_of_few(rows, n, dtype):
    """The losses of a few short rows: the same calls of NumPy with nothing between them."""
    starts, ones, size = _starts(rows, n), _ones(n, dtype), (rows, n)

    def losses(x, target, loss):
        at = x.argmax(1)
        at += starts
        e = np.subtract(x, x.take(at).repeat(n).reshape(size))
        np.add(starts, target, at)
        np.negative(e.take(at), loss)
        np.exp(e, e)
        total = e.dot(ones)
        loss += np.log(total)
        return e, total
    return losses


class _inside:
    """Class numbers as places in rows; `kept` are those that count, None where all do, `count` how many they are."""
    __slots__ = ("at", "kept", "count")

    def __init__(self, target, n, ignore_index):
        at = np.asarray(target).reshape(-1)
        if at.dtype != np.int64:
            at = at.astype(np.int64)
        self.kept, self.count, self.at = None, at.size, at
        if not 0 <= ignore_index < n:
            unsigned = at.view(_UNSIGNED)
            if not at.size or unsigned[unsigned.argmax()] < n:     # a third of what the maximum takes, of few
                return
        low, high = (at.min(), at.max()) if at.size else (0, 0)
        if low <= ignore_index <= high:
            self.kept = at != ignore_index
            self.count = np.count_nonzero(self.kept)
        if low < 0 or high >= n:
            self.at = np.clip(at, 0, n - 1)


def cross_entropy_back(rows, n, dtype, reduction, ignore_index):
    """The gradient of `cross_entropy` from logits, class numbers and the cotangent."""
    def one(x, target, scale, out):
        np.subtract(x, _spread(_peak(x), x), out=out)
        np.exp(out, out=out)
        finish(out, _summed(len(x), n, dtype)(out), target, scale)

    def finish(out, total, target, scale):
        out *= _spread((scale / total).reshape(-1, 1), out)
        out.reshape(-1)[_starts(len(out), n) + target] -= scale

    blocks = _by_blocks(rows, n)
    every = _over(blocks, one)

    def run(x, target, ct):
        shape, scale = np.shape(x), np.asarray(ct).reshape(-1)
        kept = _kept.taken((x, target)) if _kept.entries else None
        if kept is not None and kept[3] == ignore_index:
            out, total, target, _ = kept
        else:
            out, target = None, _inside(target, n, ignore_index)
        if reduction == "mean":
            scale = scale / dtype.type(target.count)
        if target.kept is not None:
            scale = np.where(target.kept, scale, dtype.type(0))
        if out is not None:
            finish(out, total, target.at, scale)
        else:
            out = np.empty((rows, n), dtype)
            every(_contiguous(x, (rows, n)), target.at, scale if blocks is None else np.broadcast_to(scale, (rows,)), out)
        return [out.reshape(shape)]
    return run


_UNSIGNED, _NONE = np.dtype(np.uint64), np.zeros((), np.int64)
_NONE.flags.writeable = False


def outside(classes, ignore_index):
    """The first class number that is none of so many and not `ignore_index`; 0 where there is none."""
    def run(target):
        target = np.asarray(target).reshape(-1)
        if not target.size or target.dtype == np.int64 and target.view(_UNSIGNED).max() < classes:
            return [_NONE]
        bad = (target < 0) | (target >= classes)
        bad &= target != ignore_index
        first = bad.argmax()
        return [np.asarray(target[first] if bad[first] else 0, np.int64)]
    return run


def nll(rows, n, dtype, reduction, ignore_index):
    """Of rows of log-probabilities and class numbers: minus what is at the class; the mean is over those that count."""
    shape = (1,) if reduction == "none" else ()

    def run(x, target):
        if rows == 1:                          # as often as a program goes through a sequence: its calls are all it takes
            at = np.asarray(target).item()
            if at != ignore_index and 0 <= at < n:
                return [np.negative(np.asarray(x).reshape(-1)[at:at + 1]).reshape(shape)]
        target = _inside(target, n, ignore_index)
        loss = -np.asarray(x).reshape(-1)[_starts(rows, n) + target.at]
        if target.kept is not None:
            loss = np.where(target.kept, loss, dtype.type(0))
        if reduction == "none":
            return [loss]
        total = np.add.reduce(loss)
        return [np.asarray(total / dtype.type(target.count) if reduction == "mean" else total, dtype)]
    return run


def nll_back(rows, n, dtype, reduction, ignore_index):
    """The gradient of `nll` from its operands, of which the first is only kept, and the cotangent."""
    def run(logp, target, ct):
        if rows == 1:
            at = np.asarray(target).item()
            if at != ignore_index and 0 <= at < n:
                out = np.zeros((1, n), dtype)
                out[0, at] = -np.asarray(ct).item()
                return [out]
        target, out = _inside(target, n, ignore_index), np.zeros(rows * n, dtype)
        slope = -np.asarray(ct)
        if reduction == "mean":
            slope = slope / dtype.type(target.count)
        if target.kept is not None:
            slope = np.where(target.kept, slope, dtype.type(0))
        out[_starts(rows, n) + target.at] = slope
        return [out.reshape(rows, n)]
    return run
