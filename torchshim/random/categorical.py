"""Sampling indices by weight, and the order in which ties are sampled."""

import ml_dtypes
import numpy as np

from ..engine.quiet import quiet
from .floats import libm

_KINDS = {
    np.dtype("?"): "Bool", np.dtype("u1"): "Byte", np.dtype("i1"): "Char",
    np.dtype("i2"): "Short", np.dtype("i4"): "Int", np.dtype("i8"): "Long",
    np.dtype("c8"): "ComplexFloat", np.dtype("c16"): "ComplexDouble",
}
_MANY = 1 << 12                                # weights for which that pays
_INVALID = "invalid multinomial distribution "


def multinomial(stream, weights, n_sample, replacement, arrange):
    """Indices drawn from each row of ``weights``; ``arrange`` turns a fill's
    values into an array laid out in memory as the weights are."""
    _check(weights, n_sample, replacement)
    rows = weights.reshape(-1, weights.shape[-1])
    if replacement and n_sample > 1:
        out = _with_replacement(stream, rows, n_sample)
    else:
        if n_sample == 1 and weights.dtype == np.float64 and weights.size > _MANY:
            return _winners(stream, weights, arrange).reshape(weights.shape[:-1] + (1,))
        out = _race(stream, weights, arrange).reshape(rows.shape)
        if n_sample == 1:
            out = out.argmax(1, keepdims=True)
        else:
            out = np.stack([largest(row, n_sample) for row in out]) if len(out) else (
                np.empty((0, n_sample), np.int64))
    return out.reshape(weights.shape[:-1] + (n_sample,))


def _check(weights, n_sample, replacement):
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype in _KINDS:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: "
                           f"{_KINDS[weights.dtype]}")
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if n_sample <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if replacement and n_sample > 1 and not weights.shape[-1]:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and n_sample > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement")


def _winners(stream, weights, arrange):
    """Who wins the race in each row, with variates that lack the C library's last bits but where the first two come in that close."""
    _admit(weights)
    times, uniforms = [arrange(x).reshape(-1, weights.shape[-1]) for x in stream.nearly_exponential(weights.size)]
    rows = weights.reshape(times.shape)
    with np.errstate(all="ignore"):
        ratio = rows / times
        first = np.argmax(ratio, axis=1)
        best = ratio[np.arange(len(ratio)), first]
        for k in np.flatnonzero(np.count_nonzero(ratio >= best[:, None] * (1 - 1e-12), axis=1) > 1):
            first[k] = np.argmax(rows[k] / -libm(np.log1p, uniforms[k]))
    return first


def _race(stream, weights, arrange):
    """Each weight over its own exponential variate: the largest one wins."""
    _admit(weights)
    times = arrange(stream.exponential(weights.size, 1.0, weights.dtype))
    if weights.dtype.itemsize > 2:
        return quiet(np.divide, weights, times)
    ratio = quiet(np.divide, weights.astype(np.float32), times.astype(np.float32))
    return quiet(ratio.astype, weights.dtype).astype(np.float32)


def _admit(weights):
    wide = weights if weights.dtype.itemsize > 2 else weights.astype(np.float32)
    most = np.maximum.reduce(wide, -1, initial=0).ravel().tolist()
    if not (np.minimum.reduce(wide, None, initial=0) >= 0 and max(most, default=0) < np.inf):      # the least is nan where there is one
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not min(most, default=1) > 0:
        raise RuntimeError(_INVALID + "(sum of probabilities <= 0)")


def _with_replacement(stream, rows, n_sample):
    """Bisection in each row's cumulative distribution, one uniform a sample."""
    rows = rows.astype(np.float32) if rows.dtype.itemsize == 2 else rows
    totals = np.cumsum(rows, axis=1, dtype=rows.dtype)
    if not ((rows >= 0).all() and np.isfinite(rows).all() and (totals[:, -1:] > 0).all()):
        for row, total in zip(rows, totals):
            _refuse(row, total)
    totals /= totals[:, -1:]
    totals[:, -1] = 1
    drawn = stream.uniform(rows.shape[0] * n_sample, dtype=np.float64).reshape(-1, n_sample)
    return np.array([np.searchsorted(t, u) for t, u in zip(totals.astype(np.float64), drawn)], np.int64).reshape(-1, n_sample)


def _refuse(row, total):
    if not (row >= 0).all():
        raise RuntimeError(_INVALID + "(encountering probability entry < 0)")
    if not np.isfinite(row).all():
        raise RuntimeError(_INVALID + "(encountering probability entry = infinity or NaN)")
    if not total[-1] > 0:
        raise RuntimeError(_INVALID + "(sum of probabilities <= 0)")


# -------------------------------------------------------------------- top values
def largest(row, k):
    """Indices of the k largest values of a row, descending, NaN above all; equal
    values come in the order PyTorch's ``topk`` on CPU leaves them in."""
    row = row.astype(np.float32) if row.dtype == ml_dtypes.bfloat16 else row
    if k == 0:
        return np.empty(0, np.int64)
    # numpy sorts NaN to the end, where the largest belong
    least = np.partition(row, row.size - k)[row.size - k]
    if not np.isnan(least):
        place = np.flatnonzero(~(row < least))
        place = place[np.argsort(-row[place], kind="stable")]
        top = row[place]
        if place.size == k and not np.isnan(top[-1]) and not (top[1:] == top[:-1]).any():
            return place
    order = np.argsort(-row, kind="stable")
    missing = np.count_nonzero(np.isnan(row))
    order = np.concatenate((order[row.size - missing:], order[:row.size - missing]))
    # rank 0 is the largest value, equal values share a rank
    ordered = row[order]
    rank = np.empty(row.size, np.int64)
    steps = (ordered[1:] != ordered[:-1]) & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    rank[order] = np.concatenate(([0], np.cumsum(steps)))
    items = list(zip(rank.tolist(), range(row.size), strict=True))
    if k * 64 <= row.size:
        _partial_sort(items, 0, k, row.size)
    else:
        _nth_element(items, k - 1)
        _sort(items, 0, k - 1)
    return np.array([index for _, index in items[:k]], np.int64)


# What follows are the C++ library's selection algorithms, whose exact sequence of
# comparisons and moves decides where equal items end up.  Items are (rank, index)
# and only ranks are compared.
def _sift(items, start, hole, size, value):
    """Let ``value`` sink from ``hole`` to the bottom and rise to its place."""
    top = hole
    child = hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if items[start + child][0] < items[start + child - 1][0]:
            child -= 1
        items[start + hole] = items[start + child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        items[start + hole] = items[start + child]
        hole = child
    while hole > top:
        parent = (hole - 1) // 2
        if not items[start + parent][0] < value[0]:
            break
        items[start + hole] = items[start + parent]
        hole = parent
    items[start + hole] = value


def _heap_select(items, first, middle, last):
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1):
        _sift(items, first, parent, size, items[first + parent])
    for k in range(middle, last):
        if items[k][0] < items[first][0]:
            value, items[k] = items[k], items[first]
            _sift(items, first, 0, size, value)


def _partial_sort(items, first, middle, last):
    _heap_select(items, first, middle, last)
    for end in range(middle - 1, first, -1):
        value, items[end] = items[end], items[first]
        _sift(items, first, 0, end - first, value)


def _partition(items, first, last):
    """Split around the median of three; returns where the second part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = items[a][0], items[b][0], items[c][0]
    if x < y:
        pick = b if y < z else c if x < z else a
    else:
        pick = a if x < z else c if y < z else b
    items[first], items[pick] = items[pick], items[first]
    pivot = items[first][0]
    low, high = first + 1, last
    while True:
        while items[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < items[high][0]:
            high -= 1
        if low >= high:
            return low
        items[low], items[high] = items[high], items[low]
        low += 1


def _insertion_sort(items, first, last):
    for k in range(first + 1, last):
        value = items[k]
        place = k
        while place > first and value[0] < items[place - 1][0]:
            items[place] = items[place - 1]
            place -= 1
        items[place] = value


def _depth(count):
    return 2 * (count.bit_length() - 1)


def _nth_element(items, nth):
    first, last = 0, len(items)
    depth = _depth(last)
    while last - first > 3:
        if depth == 0:
            _heap_select(items, first, nth + 1, last)
            items[first], items[nth] = items[nth], items[first]
            return
        depth -= 1
        cut = _partition(items, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(items, first, last)


def _sort(items, first, last):
    if first < last:
        _sort_coarsely(items, first, last, _depth(last - first))
        _insertion_sort(items, first, last)


def _sort_coarsely(items, first, last, depth):
    while last - first > 16:
        if depth == 0:
            _partial_sort(items, first, last, last)
            return
        depth -= 1
        cut = _partition(items, first, last)
        _sort_coarsely(items, cut, last, depth)
        last = cut
