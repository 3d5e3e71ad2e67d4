"""Elementwise writes that see what the same write changed before, through an operand or since elements of the target lie in one place:
element after element, as torch's loop goes over the memory."""
from __future__ import annotations

import functools

import numpy as np

from ...engine import TRACED, array_of, is_host, literal, record, context
from ...ops import promotion as P
from ...ops.layout import fastest_first
from ...ops.memory_views import places_of
from .handle import look, meta, offset_of, read
from .storage import read_steps, write_steps

_BYTES_AT_ONCE = 64        # from so many on, torch reads several elements before it writes them
_ON_ONE_THREAD = 1 << 15   # so many elements at most


def waves(name, tensors, kept=False):
    """(In which turn each element of the target is written by `name`, from 0 on, in its shape; for those of one place, or None, see
    `_settled`); None where all may be so at once. So it is said, too, where vectors and threads decide in torch what is read: there an
    operand is what it was. kept: the target is not an operand."""
    t = tensors[0]
    m, st = meta(t), t._ts_st
    if m.numel < 2 or not is_host(m.device):
        return None
    if read(t).extra is TRACED:
        if m.coincident and together(m.shape, m.strides) is not None:
            raise NotImplementedError(f"torchshim: {name} of a tensor whose elements lie in one place, inside of a transform")
        return None
    if not m.coincident and m.numel > _ON_ONE_THREAD:
        return None
    metas = [meta(x) for x in tensors]
    spread = [_spread(x, m.shape) for x in metas]
    if None in spread:
        return None
    whole = name != "copy_" and P.result_type([x.dtype for x in metas if x.ndim], [x.dtype for x in metas if not x.ndim], ()) != m.dtype
    if whole and not m.coincident:             # torch reads them before, in another dtype
        return None
    seen = [] if whole else list(zip(tensors, metas, spread))[int(kept or not m.coincident):]
    reads = [(strides, offset_of(x)) for x, mx, strides in seen if x._ts_st is st and mx.dtype == m.dtype]
    return _turns(m.shape, m.strides, offset_of(t), m.dtype.itemsize, tuple(spread), tuple(reads), m.coincident)


def rows_alone(t, dim, index):
    """`waves` of a write to the rows that `index` names along a dimension: all at once, and nothing else is; None where no elements lie in
    one place."""
    m = meta(t)
    cells = together(m.shape, m.strides) if m.coincident else None
    if cells is None:
        return None
    for x in (t, index):
        if read(x).extra is TRACED:
            raise NotImplementedError("torchshim: a write to rows of a tensor whose elements lie in one place, inside of a transform")
    turn = np.full(m.shape, -1, np.int32)
    turn[(slice(None),) * dim + (np.atleast_1d(look(index)),)] = 0
    return turn, (cells, np.arange(m.numel))


@functools.lru_cache(64)
def together(shape, strides):
    """Which elements lie in one place: its number for each, where any do."""
    places, cells = np.unique(places_of(shape, strides, 0), return_inverse=True)
    return cells.reshape(shape) if len(places) < cells.size else None


@functools.lru_cache(64)
def _turns(shape, strides, offset, itemsize, spread, reads, coincident):
    """`waves` of what lies so. spread: the strides of the target and its operands; reads: (strides, offset) of those that see what is
    written."""
    perm = fastest_first(spread, shape)
    order = np.arange(np.prod(shape)).reshape(shape).transpose(perm[::-1]).ravel()       # the elements as the loop comes to them
    lie = places_of(shape, strides, offset).ravel()[order]
    seen = [places_of(shape, s, at).ravel()[order] for s, at in reads]
    cells = together(shape, strides) if coincident else None
    run, alike = _run(shape, spread, perm)
    run = run if alike and run * itemsize >= _BYTES_AT_ONCE else 1
    turn, written, waiting = np.zeros(lie.size, np.int32), {}, {}
    for k, (place, *sources) in enumerate(zip(lie.tolist(), *[x.tolist() for x in seen])):
        before = [written[p] for p in sources if p in written]
        if run > 1 and any([j // run == k // run for j in before]):
            if cells is None:
                return None
            raise NotImplementedError("torchshim: a write to elements that lie in one place which reads what it wrote just before")
        now = max([turn[j] + 1 for j in before], default=0)
        turn[k] = now = max(now, turn[written[place]] if place in written else 0, waiting.pop(place, 0))
        for p in sources:
            waiting[p] = max(waiting.get(p, 0), now)
        written[place] = k
    if cells is None and not turn.any():
        return None
    back = np.empty_like(turn)
    back[order] = turn
    return back.reshape(shape), None if cells is None else (cells, order)


def _spread(m, shape):
    """The strides of an operand in the shape that it is broadcast to; None where it does not fit."""
    ahead = len(shape) - m.ndim
    if ahead < 0 or any([n not in (1, k) for n, k in zip(m.shape, shape[ahead:])]):
        return None
    return (0,) * ahead + tuple([0 if n == 1 < k else s for n, s, k in zip(m.shape, m.strides, shape[ahead:])])


def _run(shape, every, perm):
    """(How many elements the innermost loop has, whether it goes through memory without gaps), of a target and its operands."""
    dims = [d for d in perm if shape[d] > 1]
    run = shape[dims[0]]
    for d in dims[1:]:
        if any([s[d] != s[dims[0]] * run for s in every]):
            break
        run *= shape[d]
    return run, every[0][dims[0]] == 1 and all([s[dims[0]] in (0, 1) for s in every])


def in_turn(op, tensors, layout, vals, nums, kinds, result, turns):
    """The result of an in-place `op` whose elements are written in these turns, see `waves`. `result`: what it gives of the operands as they
    were."""
    t, (turn, together) = tensors[0], turns
    steps = [() if x._ts_view is None else x._ts_view.steps for x in tensors]
    memory, there = t._ts_st.value, array_of(vals[0])
    for k in range(turn.max() + 1):
        if k:
            now = write_steps(memory, steps[0], literal(there))
            given = [read_steps(now, s) if x._ts_st is t._ts_st else v for x, s, v in zip(tensors, steps, vals)]
            result = record(context, op, layout, given, nums, kinds)[0]
        there = np.where(turn == k, array_of(result), there)
        if together is not None:
            there = _settled(there, turn == k, *together)
    return literal(there)


def _settled(there, new, cells, order):
    """What is there after some elements were written, the later ones over the earlier where they lie in one place."""
    memory = np.empty(cells.max() + 1, there.dtype)
    memory[cells.ravel()] = there.ravel()
    order = order[new.ravel()[order]]
    memory[cells.ravel()[order]] = there.ravel()[order]
    return memory[cells]
