"""Storages and views: who shares memory with whom.

A Storage owns one engine Value in its natural shape, a `version` (what torch counts) and a `gen` (what caches compare).
A View says how a tensor reads its part of it: a chain of steps, each an operator's Instance with its run-time numbers.
"""
from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary, ref as weakref

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import Memory, allocated, array_of, context, half, is_host, meta_of, record
from ...engine.record.memo import Memo
from ...ops.layout import as_written
from ...ops.memory_views import constant_of_nothing
from ...ops.views import LazyInstance, LazyOp, alias, permute, reshape, slice_op


class Storage:
    """One block of memory as torch sees it. `value` is the root tensor's current Value.
    `bounds` is set where it served as an index, or may: (the Value, below and above what it has no element); `writer` by the first in-place
    node, and `rewritten` with it: see `note_history`; `moved` where `.data =` gave other memory to a tensor that saw it:
    see `note_move`; `attributes` what the user has set on its UntypedStorage, the class of a subclass among it."""
    __slots__ = ("value", "gen", "version", "address", "writer", "rewritten", "bounds", "moved", "attributes", "__weakref__")


class SharedCount:
    """A storage's version as the version of a tensor that left it, in the form of Extra.version: `count[0]`."""
    __slots__ = ("storage", "last")

    def __init__(self, st):
        self.storage, self.last = weakref(st), st.version

    def __getitem__(self, _):
        st = self.storage()
        if st is not None:
            self.last = st.version
        return self.last

    def __setitem__(self, _, n):
        self.last, st = n, self.storage()
        if st is not None:                     # what the memory's own views saved is looked at again
            st.version, st.gen = n, st.gen + 1


def new_storage(value, new=Storage.__new__):
    st = new(Storage)
    st.value, st.gen, st.version, st.address = value, 0, context.version, None
    return st


def log_write(undo, st, count=None):
    """Before a write to `st` while a check is pending (see engine/record/checks.py); `count` is the tensor's own version, if it has one."""
    value, version, writer = st.value, st.version, getattr(st, "writer", None)
    own = None if count is None else count[0]

    def restore():
        st.gen += 1                            # first: what was read in between is not what is there then
        st.value, st.version, st.writer = value, version, writer
        if count is not None:
            count[0] = own
    undo.append(restore)


def log_writes(undo, storages):
    """`log_write` for several, whose tensors have no versions of their own."""
    held = [(st, st.value, st.version, getattr(st, "writer", None)) for st in storages]

    def restore():
        for st, value, version, writer in held:
            st.gen += 1
            st.value, st.version, st.writer = value, version, writer
    undo.append(restore)


def note_history(t):
    """Before a tensor gets another history: who looks at what was saved of it must know the tensor by its present edge."""
    st, vw = t._ts_st, t._ts_view
    if not hasattr(st, "rewritten"):
        st.rewritten = {}
    st.rewritten[_place(t._ts_edge, () if vw is None else vw.steps, 0 if vw is None else vw.offset)] = weakref(t)


def note_move(t, e):
    """Before a tensor with the edge `e` gets other memory: what was saved of it holds what it holds then."""
    st, vw = t._ts_st, t._ts_view
    if not hasattr(st, "moved"):
        st.moved = {}
    st.moved[_place(e, () if vw is None else vw.steps, 0 if vw is None else vw.offset)] = weakref(t)
    st.gen += 1


def moved_from(st, e, steps, offset):
    """The tensor with the edge `e` that saw `steps` of `st` and has other memory now; None where there is none, or it is gone."""
    ref = getattr(st, "moved", {}).get(_place(e, steps, offset))
    return None if ref is None else ref()


def _place(e, steps, offset):
    """What tells a tensor among those on its storage: its edge, and what it sees."""
    where = None if e is None or e is True else (id(e[0]), e[1]) if e.__class__ is tuple else (id(e), 0)
    return where, tuple([id(inst) for inst, _ in steps]), offset


def was_rewritten(st, e, steps, offset):
    """Whether the tensor on `st` that had the edge `e`, and saw `steps` of it, got another history, be it there or gone."""
    return _place(e, steps, offset) in getattr(st, "rewritten", ())


def known_by(st, e, steps, offset):
    """The tensor on `st` that had the edge `e` before it got another history, and saw `steps` of it; None where there is none, or it is
    gone."""
    ref = getattr(st, "rewritten", {}).get(_place(e, steps, offset))
    return None if ref is None else ref()


class Address(NamedTuple):
    """Where a storage lies. `room` is our memory at that place, with what the storage held at generation `gen`."""
    number: int
    room: memoryview | None = None
    gen: float = float("nan")


_free = 0x7F0000000000                         # numbers for what the host has no memory of


def address(st):
    """Where a storage lies in the host's memory: for its whole life the same place. What the storage holds at the time of the call can be
    read there; what others write there is seen only while NumPy sees the storage. A mere number, no other storage's, for what lies on an
    accelerator or is a tracer.
    """
    global _free
    known, v = st.address, st.value
    if v.extra.__class__ is Memory:            # NumPy sees it
        st.address = Address(v.extra.flat.ctypes.data, v.extra.room)
    elif known is None or known.room is not None and known.gen != st.gen:
        a = array_of(v) if is_host(v.meta.device) else None
        if a is None or isinstance(a, jax.core.Tracer):
            st.address = Address(_free)
            _free += (v.meta.numel * v.meta.dtype.itemsize + 127) // 64 * 64
        else:
            memory = allocated(v, np.asarray(a), known and known.room)
            st.address = Address(memory.flat.ctypes.data, memory.room, st.gen)
            lain[v] = weakref(st), st.address
    return st.address.number


#: Where Values lie of which somebody asked that: a gradient that nobody holds any more becomes a leaf's with its memory, as in torch.
lain: WeakKeyDictionary = WeakKeyDictionary()


def lie_there(t):
    """Let a tensor that owns a new storage lie where its Value was said to lie, if nobody else lies there."""
    st, address = lain.pop(t._ts_st.value, (None, None))
    if st is not None and st() is None:
        t._ts_st.address = address


ELSEWHERE = -1


class View:
    """How a tensor reads its storage.

    `steps` lead from the storage's root; the first `skip` of them lead to `base`, the tensor that owns the autograd
    history (None where the tensor owns its own, as a detached one does; `skip` is ELSEWHERE where they lead to no part of the base,
    since the view got other memory by `.data =`). `ref` is a weak reference to what was read at
    generation `gen`: a view keeps nothing alive that it can read again, but what it reads of small memory (`held`). `seen` is the version
    for which the tensor's edge is known. `creation` says why an in-place write may be refused: None, "multi" (one of several outputs),
    "custom" (made by a custom Function), "no_grad" or "inference".
    """
    __slots__ = ("steps", "skip", "base", "offset", "meta", "ref", "gen", "held", "seen", "creation")


class _Chain(LazyOp):
    """Base of the two operators over a chain of steps; interned by the chain's Instances."""

    def __init__(self, insts):
        super().__init__()
        self.insts, self.build_half = insts, self.build

    def widened(self, inst):
        return self.of(tuple([half.wide_of(i) if half.about((), i.in_metas + i.out_metas) else i for i in self.insts])).resolve(
            inst.layout, half.widened(inst.in_metas), inst.kinds)

    @classmethod
    def of(cls, insts):
        return cls.known.get(insts) or cls.known.keep(insts, cls(insts))


class Get(_Chain):
    """Read a view from its storage's root: the steps one after the other."""
    name, grad, known = "view_get", "AsStridedBackward0", Memo(1024)
    twice = staticmethod(constant_of_nothing)

    def build(self, layout, metas, kinds):
        insts = self.insts

        def fn(root, *nums):
            return [read_chain(root, insts, nums)]
        return LazyInstance(self, (), fn, metas, kinds, (insts[-1].out,))

    def on_host(self, inst):
        """NumPy's own views, one after the other."""
        parts = [(i.interpreted(), len(i.kinds)) for i in self.insts]

        def get(root, *nums):
            at = 0
            for part, k in parts:
                root = part(root, *nums[at:at + k])[0]
                at += k
            return [root]
        return get


class Put(_Chain):
    """Write a value through a view: the root with the view's elements replaced."""
    name, grad, known = "view_put", "CopySlices", Memo(1024)

    def build(self, layout, metas, kinds):
        insts = self.insts

        def fn(root, value, *nums):
            return [write_chain(root, insts, nums, value)]
        root = metas[0]
        if insts and insts[0].in_metas[0].shape == root.shape:         # a gradient too: torch copies it into memory that lies as the base
            root = meta_of(root.shape, root.dtype, root.device, insts[0].in_metas[0].strides)
        return LazyInstance(self, (), fn, metas, kinds, (root,))

    def on_host(self, inst):
        put = self.over_host(inst)
        return put and (lambda root, *rest: put(np.array(root, order="C"), *rest))

    def over_host(self, inst):
        """Writes through NumPy's own views; None where one of the steps has to copy."""
        m, get = inst.in_metas[0], Get.of(self.insts).on_host(inst)
        if any([i.op not in _WRITABLE for i in self.insts]) or m.dtype.kind == "V":
            return None
        probe = np.empty(m.shape, m.dtype)
        if m.numel and not np.may_share_memory(get(probe, *[np.zeros((), np.int64)] * len(inst.kinds))[0], probe):
            return None

        def put(root, value, *nums):
            get(root, *nums)[0][...] = value
            return [root]
        return put


_WRITABLE = {slice_op, permute, reshape, alias}        # what NumPy does without a copy, unless a reshape needs one


def read_chain(root, insts, nums):
    for inst in insts:
        k = len(inst.kinds)
        root, nums = inst.fn(root, *nums[:k])[0], nums[k:]
    return root


def write_chain(root, insts, nums, value):
    if not insts:
        return value
    if len(insts) > 1 and any([_coincide(i) for i in insts[:-1]]):
        if any([i.out.held != root.dtype for i in insts]):
            if _coincide(insts[0]):
                raise NotImplementedError("writing through a view whose elements coincide and that reads memory as another dtype")
            return _write_first(root, insts, nums, value)
        where = read_chain(jnp.arange(root.size).reshape(root.shape), insts, nums)
        return root.ravel().at[as_written(insts[-1].out, where)].set(as_written(insts[-1].out, value)).reshape(root.shape)
    return _write_first(root, insts, nums, value)


def _write_first(root, insts, nums, value):
    first, k = insts[0], len(insts[0].kinds)
    if len(insts) > 1:
        inner = first.fn(root, *nums[:k])[0]
        value = write_chain(inner, insts[1:], nums[k:], value)
    return first.op.view.put(first, root, value, nums[:k])


def _coincide(inst):
    """Whether elements of a view may be the same one of its base: then a write cannot go back through it step by step."""
    out, base = inst.out, inst.in_metas[0]
    return out.numel * out.dtype.itemsize > base.numel * base.dtype.itemsize or inst.op.coincide and inst.out.coincident


def split_steps(steps):
    insts = tuple([s[0] for s in steps])
    nums = [n for s in steps for n in s[1]]
    return insts, nums, "".join([i.kinds for i in insts])


def read_steps(value, steps):
    """Value seen through `steps`."""
    if not steps:
        return value
    insts, nums, kinds = split_steps(steps)
    return record(context, Get.of(insts), (), (value,), nums, kinds)[0]


def write_steps(value, steps, new):
    """`value` with the part that `steps` see replaced by `new`."""
    if not steps:
        return new
    if len(steps) == 1:
        inst, nums = steps[0]
        insts, kinds = (inst,), inst.kinds
    else:
        insts, nums, kinds = split_steps(steps)
    return made_of(Put.of(insts), (), (value, new), nums, kinds)


def made_of(op, layout, vals, nums, kinds):
    """The one Value that `op` makes of these, computed at once where that is a small call (see engine/direct.py), else recorded."""
    direct = context.trace.direct
    v = None if direct is None else direct.of(op, layout, vals, nums, kinds)
    return record(context, op, layout, vals, nums, kinds)[0] if v is None else v
