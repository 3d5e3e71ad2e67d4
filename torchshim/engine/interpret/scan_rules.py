"""NumPy rules for cumulative operations.

float32 sums, products and sums of exponentials are accumulated in float64, as torch accumulates them: one after the other in float32 would
drift. The float64 numbers stay in a buffer that fits in the processor's cache.
"""

from __future__ import annotations

import math

import numpy as np

from .rules import F32, Spec, category, known_call, rule

F64 = np.dtype(np.float64)
_BUFFER = 1 << 14          # elements accumulated at a time
_LONG = 128                # elements side by side from which on whole rows are added to each other


def _wide(ufunc, shape, axis, dtype, work):
    """A function of an array of this shape: `ufunc` accumulated along `axis` in the dtype `work`, each result rounded to `dtype`."""
    inner, length = math.prod(shape[axis + 1:]), shape[axis]
    outer = math.prod(shape[:axis])
    zero = work.type(0)

    def along_rows(x):
        x, out = x.reshape(outer, length), np.empty((outer, length), dtype)
        rows, span = max(1, _BUFFER // length), min(length, _BUFFER)
        room = np.empty((min(rows, outer), span + 1), work)
        for at in range(0, outer, rows):
            n = min(rows, outer - at)
            for start in range(0, length, span):
                stop = min(start + span, length)
                part = room[:n, :stop - start + 1]
                if start:                      # the last result goes before the next elements
                    part[:, 0] = room[:n, span]
                    part[:, 1:] = x[at:at + n, start:stop]
                    ufunc.accumulate(part, 1, None, part)
                    out[at:at + n, start:stop] = part[:, 1:]
                else:
                    part = part[:, 1:]
                    part[...] = x[at:at + n, :stop]
                    if ufunc is np.add:
                        part[:, 0] += zero     # a sum begins with 0, to which -0 adds nothing
                    ufunc.accumulate(part, 1, None, part)
                    out[at:at + n, :stop] = part
        return out.reshape(shape)

    def across_rows(x):
        x, out = x.reshape(outer, length, inner), np.empty((outer, length, inner), dtype)
        so_far = x[:, 0].astype(work)
        if ufunc is np.add:
            so_far += zero
        out[:, 0] = so_far
        for k in range(1, length):
            ufunc(so_far, x[:, k], so_far)
            out[:, k] = so_far
        return out.reshape(shape)

    first = (slice(None),) * axis + (slice(0, 1),)

    def whole(x):
        x = x.astype(work)
        if ufunc is np.add:
            x[first] += zero
        return ufunc.accumulate(x, axis, None, x).astype(dtype, copy=False)

    if 0 in shape:
        return lambda x: np.empty(shape, dtype)
    if inner == 1 and outer * length > _BUFFER:
        return along_rows
    if inner * outer >= _LONG and inner > 1 and outer * 8 <= inner:
        return across_rows
    return whole


_BLOCK = 128               # elements of which only the extreme is asked first


def _extremes(ufunc, x):
    """`ufunc`, maximum or minimum, accumulated along long rows. Blocks that hold no new extreme are filled with the one so far: where
    the extremes do not come one after the other, most of them."""
    rows, n = x.shape
    blocks = n // _BLOCK
    main = x[:, :blocks * _BLOCK].reshape(rows, blocks, _BLOCK)
    so_far = ufunc.accumulate(ufunc.reduce(main, 2), 1)
    new = np.ones((rows, blocks), bool)
    new[:, 1:] = so_far[:, 1:] != so_far[:, :-1]       # a nan is always new
    if np.count_nonzero(new) * 4 > new.size:
        return ufunc.accumulate(x, 1)
    out = np.empty_like(x)
    filled = np.repeat(so_far, _BLOCK, 1)
    which = np.nonzero(new)
    part = main[which]
    later = which[1] > 0
    part[later, 0] = ufunc(so_far[which[0][later], which[1][later] - 1], part[later, 0])
    filled.reshape(rows, blocks, _BLOCK)[which] = ufunc.accumulate(part, 1)
    out[:, :blocks * _BLOCK] = filled
    if n % _BLOCK:
        rest = x[:, blocks * _BLOCK - 1:].copy()
        rest[:, 0] = filled[:, -1]
        out[:, blocks * _BLOCK:] = ufunc.accumulate(rest, 1)[:, 1:]
    return out


def _cumulative(ufunc, kinds):
    def make(params, ins, outs):
        axis, (shape, dtype) = params["axis"], ins[0]
        kind = category(dtype)
        if kind not in kinds:
            return None
        flip = (slice(None),) * axis + (slice(None, None, -1),)
        if ufunc in (np.add, np.multiply, np.logaddexp) and kind in ("float", "complex", "low"):
            # half types in float32: torch rounds their sums once
            work = F64 if dtype == F32 else F32 if kind == "low" else dtype
            run = _wide(ufunc, shape, axis, dtype, work)
            return (lambda x: run(x[flip])[flip]) if params["reverse"] else run
        work = F32 if kind == "low" else dtype

        long = ufunc in (np.maximum, np.minimum) and axis == len(shape) - 1 and shape[axis] >= 16 * _BLOCK and not params["reverse"]

        def scan(x):
            if work is not dtype:
                x = x.astype(work)
            if long:
                x = _extremes(ufunc, x.reshape(-1, shape[axis])).reshape(shape)
                return x.astype(dtype) if work is not dtype else x
            x = ufunc.accumulate(x[flip], axis, work)[flip] if params["reverse"] else ufunc.accumulate(x, axis, work)
            return x.astype(dtype) if work is not dtype else x

        return scan

    return make


@known_call
def latest_places(params, ins, outs):
    shape = ins[0].shape
    if not shape or 0 in shape:
        return None
    n = shape[-1]

    starts = np.arange(0, math.prod(shape), n)[:, None]

    def places(new):
        rows = new.reshape(-1, n)
        if not rows[:, 0].all():
            rows = rows.copy()
            rows[:, 0] = True
        found, = rows.reshape(-1).nonzero()
        lengths = np.empty_like(found)
        np.subtract(found[1:], found[:-1], lengths[:-1])
        lengths[-1] = rows.size - found[-1]
        at = found.repeat(lengths).reshape(rows.shape)
        if len(rows) > 1:
            at -= starts
        return [at.reshape(shape)]

    return places


@known_call
def signed_as_placed(params, ins, outs):
    return lambda values, x, index: [values if values.all() else np.where(values == 0, np.take_along_axis(x, index, -1), values)]


def product_back(shape, axis, dtype, slow):
    """The gradient of a cumulative product from its operand and result and the cotangent: sums from behind of cotangent times result, over
    the operand. `slow` computes it where a factor is 0."""
    spec = Spec(shape, dtype)
    sums = _cumulative(np.add, _NUMBERS)({"axis": axis, "reverse": True}, [spec], [spec])

    def run(*given):
        x, y, ct = map(np.asarray, given)
        if np.count_nonzero(x) < x.size:
            return slow(x, y, ct)
        total = sums(np.multiply(y, ct))
        return [np.divide(total, x, out=total)]
    return run


def logsumexp_back(shape, axis, dtype, slow):
    """The gradient of a cumulative logsumexp from its operand and result and the cotangent: from behind, too, and by logarithms, those of
    positive cotangents and of negative ones. `slow` computes it where something is not finite."""
    spec = Spec(shape, dtype)
    scan = _cumulative(np.logaddexp, ("float",))({"axis": axis, "reverse": True}, [spec], [spec])

    def part(x, y, ct):
        logs = np.log(np.maximum(ct, dtype.type(0)))
        logs -= y
        logs = scan(logs)
        logs += x
        return np.exp(logs, out=logs)

    def run(*given):
        x, y, ct = map(np.asarray, given)      # what a program made is JAX's, and turns what is added to it into one of its own
        if not (np.isfinite(x).all() and np.isfinite(y).all() and np.isfinite(ct).all()):
            return slow(x, y, ct)
        out = part(x, y, ct)
        if ct.min() < 0:
            out -= part(x, y, np.negative(ct))
        return [np.ascontiguousarray(out)]
    return run


_NUMBERS = ("int", "uint", "float", "complex", "low")
rule("cumsum")(_cumulative(np.add, _NUMBERS))
rule("cumprod")(_cumulative(np.multiply, _NUMBERS))
rule("cummax")(_cumulative(np.maximum, ("bool", "int", "uint", "float", "low")))
rule("cummin")(_cumulative(np.minimum, ("bool", "int", "uint", "float", "low")))
rule("cumlogsumexp")(_cumulative(np.logaddexp, ("float", "low")))
