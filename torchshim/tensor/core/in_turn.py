"""Elementwise writes whose operands see what the same write changed before: element after element, as torch's loop goes over the memory."""
from __future__ import annotations

import functools

import numpy as np

from ...engine import TRACED, array_of, is_host, literal, record, context
from ...ops.memory_views import places_of
from .handle import meta, offset_of, read
from .storage import read_steps, write_steps

_BYTES_AT_ONCE = 64        # from so many on, torch reads several elements before it writes them
_ON_ONE_THREAD = 1 << 15   # so many elements at most


def waves(t, tensors):
    """In which turn each element of `t` is written, from 0 on, in its shape; None where all may be so at once. So it is said, too, where
    vectors and threads decide in torch what is read: there an operand is what it was."""
    m, st = meta(t), t._ts_st
    if not 1 < m.numel <= _ON_ONE_THREAD or not is_host(m.device) or read(t).extra is TRACED:
        return None
    operands = [(_spread(meta(x), m.shape), offset_of(x), x._ts_st is st) for x in tensors]
    if any([meta(x).dtype != m.dtype or strides is None for x, (strides, _, _) in zip(tensors, operands)]):
        return None
    return _turns(m.shape, m.strides, offset_of(t), m.dtype.itemsize, tuple(operands))


@functools.lru_cache(64)
def _turns(shape, strides, offset, itemsize, operands):
    """`waves` of what lies so; operands: (strides, offset, whether it lies in the same memory) of each."""
    lie = places_of(shape, strides, offset).ravel()
    order = np.argsort(lie)
    run, alike = _run(shape, strides, [s for s, _, _ in operands])
    reads = []
    for theirs, at, own in operands:
        if own and (theirs, at) != (strides, offset):
            seen = places_of(shape, theirs, at).ravel()
            k = np.minimum(np.searchsorted(lie, seen, sorter=order), lie.size - 1)
            changed = (lie[order[k]] == seen) & (seen < lie)
            if alike and run * itemsize >= _BYTES_AT_ONCE and (changed & (lie - seen < run)).any():
                return None
            if changed.any():
                reads.append((changed, order[k]))
    if not reads:
        return None
    turn = np.zeros(lie.size, np.int32)
    while True:
        later = np.max([np.where(changed, turn[source] + 1, 0) for changed, source in reads], 0)
        if (later == turn).all():
            return turn.reshape(shape)
        turn = later


def _spread(m, shape):
    """The strides of an operand in the shape that it is broadcast to; None where it does not fit."""
    ahead = len(shape) - m.ndim
    if ahead < 0 or any([n not in (1, k) for n, k in zip(m.shape, shape[ahead:])]):
        return None
    return (0,) * ahead + tuple([0 if n == 1 < k else s for n, s, k in zip(m.shape, m.strides, shape[ahead:])])


def _run(shape, strides, operands):
    """(How many elements the innermost loop has, whether it goes through memory without gaps), of a target and its operands."""
    dims = sorted([d for d, n in enumerate(shape) if n > 1], key=lambda d: strides[d])
    every, run = [strides, *operands], shape[dims[0]]
    for d in dims[1:]:
        if any([s[d] != s[dims[0]] * run for s in every]):
            break
        run *= shape[d]
    return run, strides[dims[0]] == 1 and all([s[dims[0]] in (0, 1) for s in operands])


def in_turn(op, tensors, layout, vals, nums, kinds, result, turns):
    """The result of an in-place `op` whose elements are written in these turns, see `waves`. `result`: what it gives of the operands as they
    were."""
    t = tensors[0]
    steps = [() if x._ts_view is None else x._ts_view.steps for x in tensors]
    memory, there = t._ts_st.value, array_of(vals[0])
    for k in range(turns.max() + 1):
        if k:
            now = write_steps(memory, steps[0], literal(there))
            given = [read_steps(now, s) if x._ts_st is t._ts_st else v for x, s, v in zip(tensors, steps, vals)]
            result = record(context, op, layout, given, nums, kinds)[0]
        there = np.where(turns == k, array_of(result), there)
    return literal(there)
