"""NumPy rules for cumulative operations.

float32 sums, products and sums of exponentials are accumulated in float64, as torch accumulates them: one after the other in float32 would
drift. The float64 numbers stay in a buffer that fits in the processor's cache.
"""

from __future__ import annotations

import math

import numpy as np

from .rules import F32, Spec, category, known_call, rule

F64 = np.dtype(np.float64)
_SPAN = 1 << 16            # elements accumulated at a time
_SIDE = 8                  # neighbours in a block
_FIRST = {np.add: 0, np.multiply: 1}
_LOW, _HIGH = 1e-150, 1e150


_ROWS = 1 << 10            # elements of rows, all of which are added in one call, from which on these calls are few
_ONES, _UPPER = np.ones(_SIDE), np.triu(np.ones((_SIDE, _SIDE)))


def _least(ufunc, inner):
    """From how many elements on blocks are worth their calls, where elements to be added are one after the other, or rows are."""
    return 1 << 13 if inner > 1 or ufunc is np.add else 1 << 14


def _in_range(products):
    """Whether products are so far from float64's ends that which of their factors came first does not show. False where one is 0 or not finite."""
    sizes = np.abs(products)
    return sizes.min() > _LOW and sizes.max() < _HIGH


def _accumulate(ufunc, a):
    """`ufunc` accumulated along the middle of a contiguous array (outer, length, inner), which may be written to; the length is a multiple
    of _SIDE, and the order any. NumPy's own loop waits for each result before it begins the next. Here blocks of neighbours are accumulated
    side by side, then what comes before each block, which meets all of the block. None where that fails."""
    outer, n, inner = a.shape
    if inner > 1 and (n < 8 * _SIDE or outer * inner >= _ROWS):
        for k in range(1, n):
            ufunc(a[:, k - 1], a[:, k], out=a[:, k])
        return a
    if n < 8 * _SIDE or a.size < _least(ufunc, inner):
        return ufunc.accumulate(a, 1, None, a)
    count = n // _SIDE
    blocks = a.reshape(outer, count, _SIDE, inner)
    by_products = ufunc is np.add and inner == 1 and a.dtype == F64
    if by_products:
        ends = blocks.reshape(-1, _SIDE).dot(_ONES).reshape(outer, count, 1)
    else:
        for k in range(1, _SIDE):
            ufunc(blocks[:, :, k - 1], blocks[:, :, k], out=blocks[:, :, k])
        ends = blocks[:, :, -1]
    before = np.empty((outer, count + -count % _SIDE, inner), a.dtype)
    before[:, 1:count] = ends[:, :-1]
    before[:, count:] = first = _FIRST.get(ufunc, 0)
    before[:, 0] = first if ufunc in _FIRST else a[:, 0]
    if ufunc is np.multiply and a.dtype == F64:
        if not _in_range(ends):
            return None
        np.multiply.accumulate(before, 1, None, before)
        if not _in_range(before[:, count - 1:] * ends[:, -1:]) or not _in_range(before):
            return None
    else:
        before = _accumulate(ufunc, before)
        if before is None:
            return None
    before = before[:, :count]
    if inner > 1:
        ufunc(before[:, :, None], blocks, out=blocks)
    elif not by_products:
        ufunc(before.repeat(_SIDE, 1), a, out=a)
    else:
        blocks[:, :, 0] += before
        a = blocks.reshape(-1, _SIDE).dot(_UPPER).reshape(a.shape)
        last = a[:, -1, 0]
        return a if last.dot(np.zeros_like(last)) == 0 else None       # a product with 0 would spread what is not finite
    return a


def _wide(ufunc, shape, axis, dtype, work):
    """A function of an array of this shape: `ufunc` accumulated along `axis` in the dtype `work`, each result rounded to `dtype`, in any
    order where `work` is wider or the order does not show."""
    inner, length = math.prod(shape[axis + 1:]), shape[axis]
    outer = math.prod(shape[:axis])
    zero = work.type(0)
    rows, span = max(1, _SPAN // max(1, length * inner)), min(length, max(_SIDE, _SPAN // max(1, inner) // _SIDE * _SIDE))

    def by_blocks(x):
        x, out, blocks = x.reshape(outer, length, inner), np.empty((outer, length, inner), dtype), free
        room = np.empty(min(rows, outer) * (span + -span % _SIDE) * inner, work)
        for at in range(0, outer, rows):
            of = slice(at, min(at + rows, outer))
            for start in range(0, length, span):
                given, to = x[of, start:start + span], out[of, start:start + span]
                n, count, _ = given.shape
                part = room[:n * (count + -count % _SIDE) * inner].reshape(n, -1, inner)

                def fill():
                    part[:, :count] = given
                    part[:, count:] = _FIRST.get(ufunc, 0)
                    if start:
                        ufunc(so_far, part[:, 0], out=part[:, 0])
                    elif ufunc is np.add:
                        part[:, 0] += zero     # a sum begins with 0, to which -0 adds nothing
                fill()
                made = _accumulate(ufunc, part) if blocks else None
                if made is None:
                    if blocks:
                        fill()
                        blocks = False         # what is beside it is likely to be the same
                    made = ufunc.accumulate(part, 1, None, part)
                to[...] = made[:, :count]
                so_far = made[:, count - 1].copy()
        return out.reshape(shape)

    first = (slice(None),) * axis + (slice(0, 1),)

    def whole(x):
        x = x.astype(work)
        if ufunc is np.add:
            x[first] += zero
        return ufunc.accumulate(x, axis, None, x).astype(dtype, copy=False)

    if 0 in shape:
        return lambda x: np.empty(shape, dtype)
    free = ufunc in (np.maximum, np.minimum) or ufunc is not np.logaddexp and (work.kind in "iu" or work == F64 != dtype)
    if length >= 8 * _SIDE and (inner == 1 or inner >= 2 * _SIDE) and outer * length * inner >= _least(ufunc, inner):
        return by_blocks
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
        # half types in float32: torch rounds their sums once
        work = F32 if kind == "low" else F64 if dtype == F32 and ufunc in (np.add, np.multiply, np.logaddexp) else dtype
        if ufunc in (np.maximum, np.minimum) and axis == len(shape) - 1 and shape[axis] >= 16 * _BLOCK and not params["reverse"]:
            return lambda x: _extremes(ufunc, x.astype(work, copy=False).reshape(-1, shape[axis])).reshape(shape).astype(dtype, copy=False)
        run = _wide(ufunc, shape, axis, dtype, work)
        return (lambda x: run(x[flip])[flip]) if params["reverse"] else run

    return make


def _found(new):
    """Where the elements of rows, the first of each among them, are true, and how many from there on are not."""
    found, = new.reshape(-1).nonzero()
    lengths = np.empty_like(found)
    np.subtract(found[1:], found[:-1], lengths[:-1])
    lengths[-1] = new.size - found[-1]
    return found, lengths


@known_call
def latest_places(params, ins, outs):
    shape = ins[0].shape
    if not shape or 0 in shape:
        return None
    n = shape[-1]

    def places(new):
        rows = new.reshape(-1, n)
        if not rows[:, 0].all():
            rows = rows.copy()
            rows[:, 0] = True
        found, lengths = _found(rows)
        return [(found % n).repeat(lengths).reshape(shape)]

    return places


def extremes_so_far(ufunc, shape, axis, dtype):
    """A cumulative maximum or minimum of floats and where each is: the latest of equal ones, or the latest nan."""
    n, last = shape[axis], axis == len(shape) - 1
    moved = shape[:axis] + shape[axis + 1:] + (n,)
    rows = math.prod(moved[:-1])
    spec = Spec((rows, n), dtype)
    scan, zeros = _cumulative(ufunc, ("float",))({"axis": 1, "reverse": False}, [spec], [spec]), np.zeros(rows, dtype)

    def run(x):
        x = np.asarray(x)
        x = (x if last else np.moveaxis(x, axis, -1)).reshape(rows, n)
        values = scan(x)
        new, end = np.equal(x, values), values[:, -1].dot(zeros)
        if end != end:                         # some row may have come to a nan
            new |= x != x
        found, lengths = _found(new)
        picked = x.reshape(-1)[found]
        if np.count_nonzero(picked) < picked.size:     # zeros have the signs that they have there
            values = picked.repeat(lengths)
        made = values.reshape(moved), (found % n).repeat(lengths).reshape(moved)
        return made if last else [np.ascontiguousarray(np.moveaxis(a, -1, axis)) for a in made]
    return run


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
