"""Which of equal elements comes first where torch's algorithm is not stable: its selection and sorting algorithms, step by step.

torch takes std::nth_element, std::partial_sort and std::sort of libstdc++ for `topk`, `median` and `mode`, and a quick-select of its own
for `kthvalue`. Each function permutes `p`, a list of places, by `r`, what stands for the elements there; where no two are equal, any
algorithm gives the same.
"""

from __future__ import annotations

import numpy as np

FEW = 16
_COUNTED = 256             # numbers from which on sorting by digits takes less than comparing


def stable_order(a):
    """`a.argsort(kind="stable")` of a vector of integers: by digits of 16 bits, which NumPy counts, where it would compare."""
    if len(a) < _COUNTED:
        return a.argsort(kind="stable")
    low, high = int(a.min()), int(a.max())
    if high - low >= 1 << 32:
        return a.argsort(kind="stable")
    if low < 0 or high >= 1 << 32:
        a = a - a.dtype.type(low) if a.dtype.kind == "u" else a.astype(np.int64) - low
        high -= low
    order = a.astype(np.uint16).argsort(kind="stable")
    if high >> 16:
        order = order.take((a >> 16).astype(np.uint16).take(order).argsort(kind="stable"))
    return order


def nth_element(p, r, nth):
    """The place of rank `nth` gets there; what is less is before it."""
    first, last = 0, len(p)
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if not depth:
            _heap_select(p, r, first, nth + 1, last)
            p[first], p[nth] = p[nth], p[first]
            return
        depth -= 1
        cut = _partition(p, r, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(p, r, first, last)


def sort(p, r, last):
    """The first `last` of them in order."""
    if last < 2:
        return
    _introsort(p, r, 0, last, 2 * (last.bit_length() - 1))
    _insertion_sort(p, r, 0, min(last, FEW))
    for i in range(FEW, last):
        _insert(p, r, i)


def partial_sort(p, r, middle, first=0, last=None):
    """The first ones up to `middle` in order."""
    _heap_select(p, r, first, middle, len(p) if last is None else last)
    while middle - first > 1:
        middle -= 1
        _pop_heap(p, r, first, middle, middle)


def quick_select(p, r, k):
    """The place of rank `k` gets there: torch's own."""
    low, high = 0, len(p) - 1
    while high > low:
        if high == low + 1:
            if r[p[low]] > r[p[high]]:
                p[low], p[high] = p[high], p[low]
            return
        middle = low + (high - low) // 2
        p[middle], p[low + 1] = p[low + 1], p[middle]
        for a, b in ((low + 1, high), (low, high), (low + 1, low)):
            if r[p[a]] > r[p[b]]:
                p[a], p[b] = p[b], p[a]
        i, j, pivot = low + 1, high, r[p[low]]
        while True:
            i += 1
            while pivot > r[p[i]]:
                i += 1
            j -= 1
            while r[p[j]] > pivot:
                j -= 1
            if j < i:
                break
            p[i], p[j] = p[j], p[i]
        p[low], p[j] = p[j], p[low]
        if j <= k:
            low = i
        if j >= k:
            high = j - 1


def _partition(p, r, first, last):
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    x, y, z = r[p[a]], r[p[b]], r[p[c]]
    if x < y:
        best = b if y < z else c if x < z else a
    else:
        best = a if x < z else c if y < z else b
    p[first], p[best] = p[best], p[first]
    pivot, first = r[p[first]], first + 1
    while True:
        while r[p[first]] < pivot:
            first += 1
        last -= 1
        while pivot < r[p[last]]:
            last -= 1
        if first >= last:
            return first
        p[first], p[last] = p[last], p[first]
        first += 1


def _introsort(p, r, first, last, depth):
    while last - first > FEW:
        if not depth:
            partial_sort(p, r, last, first, last)
            return
        depth -= 1
        cut = _partition(p, r, first, last)
        _introsort(p, r, cut, last, depth)
        last = cut


def _insertion_sort(p, r, first, last):
    for i in range(first + 1, last):
        place = p[i]
        if r[place] < r[p[first]]:
            p[first + 1 : i + 1] = p[first:i]
            p[first] = place
        else:
            _insert(p, r, i)


def _insert(p, r, i):
    place = p[i]
    value = r[place]
    while value < r[p[i - 1]]:
        p[i] = p[i - 1]
        i -= 1
    p[i] = place


def _heap_select(p, r, first, middle, last):
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _adjust_heap(p, r, first, parent, length, p[first + parent])
    for i in range(middle, last):
        if r[p[i]] < r[p[first]]:
            _pop_heap(p, r, first, middle, i)


def _pop_heap(p, r, first, last, result):
    place = p[result]
    p[result] = p[first]
    _adjust_heap(p, r, first, 0, last - first, place)


def _adjust_heap(p, r, first, hole, length, place):
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if r[p[first + child]] < r[p[first + child - 1]]:
            child -= 1
        p[first + hole] = p[first + child]
        hole = child
    if not length & 1 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        p[first + hole] = p[first + child - 1]
        hole = child - 1
    value = r[place]
    while hole > top:
        parent = (hole - 1) // 2
        if not r[p[first + parent]] < value:
            break
        p[first + hole] = p[first + parent]
        hole = parent
    p[first + hole] = place
