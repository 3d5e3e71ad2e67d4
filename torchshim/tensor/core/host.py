"""Storages that NumPy can see: `Tensor.numpy()` and `from_numpy` share memory, as torch's do.

A storage changes its class when NumPy first sees it, so that others pay nothing. Its Value then has a Memory (see
`engine.record.memory`): readers take what is there now, and a write goes through. It changes back when the last array is gone.
"""
from __future__ import annotations

import itertools

import jax
import numpy as np

from ...engine import CHUNK, Memory, Value, alone, array_of, different_bits, exposed, present, same_bits, value_of
from ...ops.memory_views import COMPUTED
from .storage import Storage


class HostStorage(Storage):
    """A storage that NumPy can see. `gen` is NaN, which equals nothing: its views are read anew each time."""
    __slots__ = ()

    def __setattr__(self, name, v):
        Storage.__setattr__(self, name, v if name != "value" else self._write_through(v))

    def _write_through(self, new):
        v = self.value
        old = present(v)
        if old is not v:                       # NumPy still sees it
            memory, m = v.extra, v.meta
            if memory.flat.flags.writeable and new.meta.shape == m.shape and new.meta.dtype == m.dtype:
                memory.store(v, array_of(new))
                return v
            v.array, v.extra = old.array, None     # what was saved of it stays as it is
            self.address = None                # and NumPy keeps the memory
        _leave(self)
        return new


_gens = itertools.count(1 << 40, 1 << 40)      # where `gen` goes on afterwards: no view has seen such a one


def _leave(st):
    """Nobody else sees the memory any more: an ordinary storage again."""
    st.__class__ = Storage
    st.gen = next(_gens)


def shared(st):
    """Whether NumPy still sees a storage; it is an ordinary one again where it does not."""
    if st.__class__ is not HostStorage:
        return False
    v = st.value
    if v.extra.__class__ is Memory:
        if v.extra.seen():
            return True
        present(v)
    _leave(st)
    return False


def hosted(st, memory):
    """Let `st` lie in `memory`."""
    v = Value()
    v.trace = v.slot = v.array = None
    v.meta, v.extra = memory.meta, memory
    st.value, st.gen = v, float("nan")
    st.__class__ = HostStorage


def array(t):
    """The array that shares memory with a tensor on the CPU which is neither conjugated nor negated."""
    st, vw = t._ts_st, t._ts_view
    v = st.value
    if v.array is None:
        if v.extra.__class__ is Memory:
            v = present(v)
        else:
            array_of(v)
    if v is st.value:
        owner = alone(v)
        hosted(st, exposed(v, st.address and st.address.room, owner))
    memory = st.value.extra
    return memory.part(v.meta, 0) if vw is None else memory.part(vw.meta, vw.offset)


def part(st, vw):
    """A Value of what a view sees of its memory now, without reading the rest: the one read before if it has not changed.
    None where the view does not show the memory as it is, or nobody else sees it any more."""
    memory = st.value.extra
    if memory.__class__ is not Memory or not memory.seen() or any([inst.op in COMPUTED for inst, _ in vw.steps]):
        return None
    a, known = memory.part(vw.meta, vw.offset), vw.ref()
    if known is not None and known.array is not None and same_bits(np.asarray(known.array), a):
        return known
    return value_of(a.copy(), vw.meta)


def writable_part(st, vw):
    """The array, in the memory that others see, of what a view shows: what is written to the view goes there and nowhere else, so that
    what others write beside it meanwhile stays. None where the view does not show the memory as it is, or nobody else sees it any more."""
    memory = st.value.extra
    if memory.__class__ is not Memory or not memory.seen() or not memory.flat.flags.writeable:
        return None
    return None if any([inst.op in COMPUTED for inst, _ in vw.steps]) else memory.part(vw.meta, vw.offset)


def store_changed(st, new, before):
    """Write to memory that others see, too, the elements of `new` that are not as in `before`, of which it was computed: what others wrote
    to the rest meanwhile stays. Whether it was done."""
    memory = st.value.extra
    if (memory.__class__ is not Memory or not memory.seen() or not memory.flat.flags.writeable or new.meta.shape != memory.meta.shape
            or new.meta.dtype != memory.meta.dtype):
        return False
    now, made, known = memory.part(memory.meta, 0), np.asarray(array_of(new)), np.asarray(array_of(before))
    np.copyto(now, made, where=different_bits(made, known))
    memory.last = None
    return True


def picked(op, layout, t, metas, indices):
    """A Value of what `op` picks from `t`'s memory by the arrays `indices`, read where it lies; `metas` are `t`'s and theirs.
    None where reading all of the memory costs no more, and as for `part`."""
    m = metas[0]
    memory, vw = t._ts_st.value.extra, t._ts_view
    if memory.__class__ is not Memory or m.numel <= CHUNK or not memory.seen():
        return None
    if vw is not None and any([inst.op in COMPUTED for inst, _ in vw.steps]):
        return None
    inst = op.resolve(layout, metas, "")
    a = memory.part(m, 0 if vw is None else vw.offset)
    with jax.ensure_compile_time_eval(), np.errstate(all="ignore"):
        out = np.asarray(inst.interpreted()(a, *indices)[0])
    return value_of(out.copy() if np.may_share_memory(out, a) else out, inst.out)
