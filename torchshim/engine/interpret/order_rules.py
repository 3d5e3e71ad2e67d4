"""NumPy rules for sorting and selecting."""

from __future__ import annotations

import functools
import math

import numpy as np

from . import orders
from .elementwise_rules import total_order
from .rules import F32, category, known_call, plain, rule


@rule("sort")
def _make_sort(params, ins, outs):
    axis, num_keys = params["dimension"], params["num_keys"]
    if not plain(*ins):
        return None
    narrow = [category(s.dtype) == "low" for s in ins]
    if len(ins) == 1 and not narrow[0]:
        # equal integers are the same in any order; NumPy's own loop for them is ten times faster than a stable sort
        kind = "stable" if category(ins[0].dtype) in ("float", "complex") else None
        return lambda x: [np.sort(x, axis, kind=kind)]

    def sort(*xs):
        # NaN sorts last and the two zeros are equal, in NumPy as in JAX.
        keys = [x.astype(F32) if n else x for x, n in zip(xs[:num_keys], narrow)]
        if num_keys == 1:
            order = np.argsort(keys[0], axis, kind="stable")
        else:
            order = np.lexsort(keys[::-1], axis)
        return [np.take_along_axis(x, order, axis) for x in xs]

    return sort


@rule("top_k")
def _make_top_k(params, ins, outs):
    k, axis, dtype = params["k"], params.get("axis", -1), ins[0].dtype
    kind = category(dtype)
    if kind in ("complex", "bool", "other"):
        return None
    axis %= len(ins[0].shape)
    last, index_dtype = ins[0].shape[axis] - 1, outs[1].dtype

    def chosen(key):
        """Where the k largest of the last dimension are, in the order of their places."""
        if not k:
            return np.zeros(key.shape[:-1] + (0,), np.intp)
        least = np.partition(key, last + 1 - k, -1)[..., last + 1 - k, None]
        taken = key >= least
        if np.count_nonzero(taken) > k * math.prod(key.shape[:-1]):        # of those equal to the least, the first
            over, equal = key > least, key == least
            taken = over | equal & (np.cumsum(equal, -1) <= k - np.count_nonzero(over, -1)[..., None])
        return np.nonzero(taken)[-1].reshape(key.shape[:-1] + (k,))

    def top_k(x):
        key = np.moveaxis(total_order(x) if kind in ("float", "low") else x, axis, -1)
        at = chosen(key)
        key = np.take_along_axis(key, at, -1)
        # A stable ascending sort of the reversed array, reversed: ties keep the lower index first.
        rank = k - 1 - np.argsort(key[..., ::-1], -1, kind="stable")[..., ::-1]
        order = np.moveaxis(np.take_along_axis(at, rank, -1), -1, axis)
        return [np.take_along_axis(x, order, axis), order.astype(index_dtype)]

    return top_k


# ---------------------------------------------------------------- elements by rank, along the last dimension
#
# The number at a rank is found by a partial sort of numbers alone, its place by a search.


def _comparable(spec):
    """A function to numbers that NumPy sorts by loops of its own; None for what has no order."""
    kind = category(spec.dtype)
    if kind in ("complex", "other") or 0 in spec.shape or not spec.shape:
        return None
    return (lambda x: x.astype(F32)) if kind == "low" else lambda x: x


def _selected(x, rank, value):
    """Where the elements of this rank are, in a stable order; `value` is what they are, with a last dimension of one."""
    same = x == value
    if x.dtype.kind == "f":
        missing = np.isnan(value)
        if missing.any():
            same |= missing & np.isnan(x)
    if np.count_nonzero(same) == value.size:
        return same.argmax(-1)[..., None]
    below = np.count_nonzero(x < value, -1)[..., None]
    if x.dtype.kind == "f" and missing.any():
        below = np.where(missing, np.count_nonzero(~np.isnan(x), -1)[..., None], below)
    return (np.cumsum(same, -1) > rank - below).argmax(-1)[..., None]


def _at_rank(x, rank):
    value = np.partition(x, rank, -1)[..., rank, None]
    return _selected(x, rank, value)


_SMALL = 1 << 14           # up to here one selection that says where takes less than several passes
_MOST = 2048               # elements of arrays in which ties are resolved as torch does: step by step, in Python
MOST_SORTED = 512          # and of those that are sorted as a whole, which takes a quarter of a millisecond


def _resolved(x, at, tied, chosen, descending=False):
    """`at` with what `chosen` (places in order, ranks of the elements) gives for the rows that are `tied`."""
    if tied.any():
        at, rows = at.copy(), x.reshape(-1, x.shape[-1])
        flat = at.reshape(len(rows), -1)
        for row in np.flatnonzero(tied.reshape(-1)).tolist():
            ranks = np.unique(rows[row], return_inverse=True)[1]       # nan are equal, and the last
            flat[row] = chosen(list(range(len(ranks))), (-ranks if descending else ranks).tolist())
    return at


def _equal(x, y):
    return (x == y) | (x != x) & (y != y)


def settled(x, at, d, descending):
    """`at`, the places of a stable order along `d`, with equal elements where torch's sort, which is not stable, leaves them."""
    if d != x.ndim - 1:
        return np.moveaxis(settled(np.moveaxis(x, d, -1), np.moveaxis(at, d, -1), x.ndim - 1, descending), -1, d)
    x, n = x.astype(F32) if category(x.dtype) == "low" else x, x.shape[-1]
    values = np.take_along_axis(x, at, -1)

    def chosen(places, ranks):
        orders.sort(places, ranks, n)
        return places
    return _resolved(x, at, _equal(values[..., 1:], values[..., :-1]).any(-1), chosen, descending)


@known_call
def kth_place(params, ins, outs):
    key = _comparable(ins[0])

    def place(x, k):
        x, k = key(x), int(k)
        if x.size <= _SMALL:
            same = x == np.partition(x, k, -1)[..., k, None]
            if (np.count_nonzero(same, -1) == 1).all():
                return [same.argmax(-1)[..., None]]
        at = _at_rank(x, k)
        if x.size > _MOST:
            return [at]

        def chosen(places, ranks):
            orders.quick_select(places, ranks, k)
            return places[k]
        return [_resolved(x, at, np.count_nonzero(_equal(x, np.take_along_axis(x, at, -1)), -1) > 1, chosen)]

    return key and place


@known_call
def mode_place(params, ins, outs):
    key, n = _comparable(ins[0]), ins[0].shape[-1] if ins[0].shape else 0

    def place(x):
        x = key(x)
        order = np.argsort(x, -1, kind="stable")
        values = np.take_along_axis(x, order, -1)
        at = np.arange(n, dtype=np.int32)
        new = np.ones(x.shape, bool)
        new[..., 1:] = values[..., 1:] != values[..., :-1]
        length = at - np.maximum.accumulate(np.where(new, at, 0), -1)
        end = length.argmax(-1)[..., None]
        found = np.take_along_axis(order, end, -1)
        if x.size > _MOST or n <= orders.FEW or x.dtype.kind == "f" and np.isnan(x).any():
            return [found]
        ends = iter(end.reshape(-1)[length.max(-1).reshape(-1) > 0].tolist())

        def chosen(places, ranks):
            orders.sort(places, ranks, n)
            return places[next(ends)]
        return [_resolved(x, found, length.max(-1) > 0, chosen)]

    return key and place


@known_call
def median_place(params, ins, outs):
    key, n = _comparable(ins[0]), ins[0].shape[-1]

    def place(x):
        x = key(x)
        at = _at_rank(x, (n - 1) // 2)
        if x.dtype.kind == "f":
            missing = np.isnan(x)
            if missing.any():
                at = np.where(missing.any(-1, keepdims=True), missing.argmax(-1)[..., None], at)
        return [at]

    return key and place


@known_call
def nanmedian_place(params, ins, outs):
    key, n = _comparable(ins[0]), ins[0].shape[-1]

    def place(x):
        x = key(x)
        if x.dtype.kind == "f" and np.isnan(x).any():
            rank = np.maximum(n - 1 - np.count_nonzero(np.isnan(x), -1), 0) // 2
            return [np.take_along_axis(np.argsort(x, -1, kind="stable"), rank[..., None], -1)]
        return [_at_rank(x, (n - 1) // 2)]

    return key and place


def _median(ignore_nan):
    def make(params, ins, outs):
        key = _comparable(ins[0])
        if key is None or len(ins[0].shape) != 1:
            return None
        dtype = outs[0].dtype

        def value(x):
            x = key(x)
            if x.dtype.kind == "f":
                missing = np.isnan(x)
                if missing.any():
                    x = x[~missing] if ignore_nan else x[missing]
                    if not x.size:
                        return [np.full((), np.nan, dtype)]
            middle = (x.size - 1) // 2
            found = np.partition(x, middle)[middle]
            if found == 0 and x.dtype.kind == "f":         # of zeros the first one gives its sign
                found = x[(x == 0).argmax()]
            return [np.asarray(found, dtype)]

        return value

    return make


known_call(_median(True), "nanmedian_value")
known_call(_median(False), "median_value")


def leading_places(largest, ordered=True):
    """The rule that finds the places of the largest, or smallest, of the last dimension, in order; unless `ordered` in that in which
    torch's selection leaves them, of few elements."""
    def make(params, ins, outs):
        key, k, n = _comparable(ins[0]), outs[0].shape[-1], ins[0].shape[-1]
        if key is None or not k:
            return None

        rank = n - k if largest else k - 1
        rows = np.arange(math.prod(ins[0].shape[:-1]))[:, None]

        def distinct(x):
            """Places in order, if what is taken differs from all else: then nothing is left to choose. Else None."""
            x = x.reshape(-1, n)
            at = x.argpartition(rank, -1)
            at = at[:, rank:] if largest else at[:, :k]
            order = x[rows, at].argsort(-1)
            at = at[rows, order[:, ::-1] if largest else order]
            chosen = x[rows, at]
            last = chosen[:, -1:]
            alone = np.count_nonzero(x >= last if largest else x <= last) == at.size and (chosen[:, 1:] != chosen[:, :-1]).all()
            return at.reshape(outs[0].shape) if alone and (chosen == chosen).all() else None

        def places(x):
            x = key(x)
            if not ordered and x.size <= _MOST and k * 64 > n:
                return [_resolved(x, np.zeros(outs[0].shape, np.int64), np.ones(len(rows), bool), leading, largest)]
            if x.size <= _SMALL:
                at = distinct(x)
                if at is not None:
                    return [at]
            edge = np.partition(x, rank, -1)[..., rank, None]
            taken = x >= edge if largest else x <= edge
            if x.dtype.kind == "f" and np.isnan(x).any():
                missing = np.isnan(x)
                taken = np.where(np.isnan(edge), missing, taken | missing) if largest else taken | np.isnan(edge)
            count = np.count_nonzero(taken)
            if count != k * edge.size:         # of those equal to the last, the first
                over = taken & (x != edge)
                if x.dtype.kind == "f":
                    over &= ~(np.isnan(x) & np.isnan(edge))
                equal = taken & ~over
                taken = over | equal & (np.cumsum(equal, -1) <= k - np.count_nonzero(over, -1)[..., None])
            at = (np.flatnonzero(taken) if taken.ndim == 1 else np.nonzero(taken)[-1]).reshape(outs[0].shape)
            chosen = np.take_along_axis(x, at, -1)
            if largest:                        # a stable ascending sort of the reversed array, reversed: of equal ones the first leads
                order = k - 1 - np.argsort(chosen[..., ::-1], -1, kind="stable")[..., ::-1]
            else:
                order = np.argsort(chosen, -1, kind="stable")
            at = np.take_along_axis(at, order, -1)
            if x.size > _MOST:
                return [at]
            chosen = np.take_along_axis(x, at, -1)
            if count == k * edge.size and not _equal(chosen[..., 1:], chosen[..., :-1]).any():
                return [at]
            last = chosen[..., -1:]
            beyond = (x >= last) | (x != x) if largest else (x <= last) | (last != last)
            tied = np.count_nonzero(np.where(last != last, x != x, beyond) if largest else beyond, -1) != k
            tied |= _equal(chosen[..., 1:], chosen[..., :-1]).any(-1)
            return [_resolved(x, at, tied, leading, largest)]

        def leading(places, ranks):
            if k * 64 <= n:
                orders.partial_sort(places, ranks, k)
            else:
                orders.nth_element(places, ranks, k - 1)
                if ordered:
                    orders.sort(places, ranks, k - 1)
            return places[:k]

        return places

    return make


for _largest, _name in ((True, "largest_places"), (False, "smallest_places")):
    known_call(leading_places(_largest), _name)
    known_call(leading_places(_largest, False), f"unordered_{_name}")


def histogram(dtype, bins):
    """The counts of an array's elements in `bins` equal intervals of [low, high], in its dtype, in which all is computed."""
    one, many = dtype.type(1), dtype.type(bins)

    def run(x, low, high):
        x, low, high = np.asarray(x).reshape(-1), dtype.type(low), dtype.type(high)
        if low == high:
            low, high = low - one, high + one
        inside = (x >= low) & (x <= high)
        x = x if inside.all() else x[inside]
        place = x - low
        place /= high - low
        place *= many
        place = place.astype(np.int64)
        np.minimum(place, bins - 1, out=place)
        return [np.bincount(place, minlength=bins).astype(dtype)]
    return run


def _insertions(side):
    def make(params, ins, outs):
        key, (shape, dtype) = _comparable(ins[0]), outs[0]
        if key is None or ins[0].dtype != ins[1].dtype:
            return None
        n = ins[0].shape[-1]

        tree = functools.cache(lambda: _tree(n)) if n <= _KEPT_TREE else lambda: _tree(n)

        def insertions(sequence, values):
            sequence, values = key(sequence), key(values)
            if sequence.ndim == 1:
                return [np.asarray(among(sequence, values), dtype)]
            rows = sequence.reshape(-1, n)
            values = values.reshape(len(rows), -1)
            return [np.array([among(a, v) for a, v in zip(rows, values)], dtype).reshape(shape)]

        def among(sequence, values):
            if values.size >= _MANY_VALUES and values.size >= n:
                return _down(*tree(), sequence, values, side)
            if (sequence[1:] >= sequence[:-1]).all() and sequence[-1] == sequence[-1]:
                return sequence.searchsorted(values, side)
            return _down(*tree(), sequence, values, side)          # NumPy would not only halve where there is no order

        return insertions

    return make


_MANY_VALUES = 1 << 12     # from which on they are looked up sooner by all halvings at once than one after the other
_KEPT_TREE = 1 << 16       # places
_BLOCK = 1 << 13           # values that stay in the processor's nearest memory


def _tree(n):
    """How one halves n places: (the middles, node k's below it at 2 k and 2 k + 1, from 1 on; where the ways down end)."""
    low, high, middles = np.zeros(1, np.int64), np.full(1, n), [np.zeros(1, np.int64)]
    for _ in range(n.bit_length()):
        middle = low + (high - low) // 2
        middles.append(middle)
        ended = low == high
        low, high = [np.stack(pair, 1).reshape(-1)
                     for pair in ((np.where(ended, low, middle + 1), low), (high, np.where(ended, high, middle)))]
    return np.concatenate(middles), low


def _down(middles, ends, sequence, values, side):
    """Where halving `sequence` leads for each of `values`, which NumPy looks up one after the other. Order is not asked for."""
    nodes, before = sequence.take(middles, mode="clip"), np.greater if side == "right" else np.greater_equal
    out, flat, levels = np.empty(values.shape, np.int64), values.reshape(-1), len(sequence).bit_length()
    to, size = out.reshape(-1), min(_BLOCK, values.size)
    at, found, first = np.empty(size, np.int64), np.empty(size, sequence.dtype), np.zeros(size, np.int64)
    flags = first.view(np.bool_)[_LOW_BYTE::8]             # a comparison writes integers where they are added
    for start in range(0, flat.size, _BLOCK):
        v = flat[start:start + _BLOCK]
        a, f, one, flag = [x[:v.size] for x in (at, found, first, flags)]
        a.fill(1)
        for _ in range(levels):
            nodes.take(a, out=f, mode="clip")
            before(f, v, flag)
            np.add(a, a, a)
            np.add(a, one, a)
        a -= len(ends)
        ends.take(a, out=to[start:start + v.size], mode="clip")
    return out


_LOW_BYTE = 0 if np.little_endian else 7


known_call(_insertions("left"), "insertions_left")
known_call(_insertions("right"), "insertions_right")
