"""Writes in place: what they refuse, what becomes of the memory, and of the history of whoever sees it."""
from __future__ import annotations

import re
from weakref import ref as weakref

import numpy as np

from ...engine import array_of, context, present, record, writers
from ...ops.views import slice_put as SLICE_PUT
from . import graph
from .graph import ForwardOnly, Node, OwnVersion, forward_only, guard_output, guard_view, sequence
from .handle import TensorBase, creation_error, edge, log_edge, meta, offset_of, read, steps_from_base, version
from .hooks import retain_too
from .in_turn import in_turn, together, waves
from .host import HostStorage, store_changed, writable_part
from .moving import moving, moving_part
from .storage import log_write, made_of, note_history, write_steps


def count(t):
    """Count a write to `t` that comes next: first, so that whoever is interrupted then has counted one that did not happen. Whoever
    changes what is held counts its generation together with that."""
    st, extra = t._ts_st, t._ts_extra
    undo = context.trace.undo
    if undo is not None:
        log_write(undo, st, None if extra is None else extra.version)
    if extra is not None and extra.version is not None:
        extra.version[0] += 1
    else:
        st.version += 1


def bump(t):
    """Count a write to `t` that somebody else does."""
    count(t)
    t._ts_st.gen += 1


def born_written(t, n):
    """`t`, a result that nobody has seen yet, to which torch's kernel writes `n` times where that counts."""
    t._ts_st.version += n
    return t


def set_value(t, value):
    """Make `value` what a tensor that is no view holds."""
    count(t)
    st = t._ts_st
    st.gen += 1
    st.value = value


def write(t, value):
    """Make `value` what `t` holds; every tensor on its storage sees it. Its history stays what it was."""
    if writers.several and writers.free():
        with writers.hold((t,)):
            return write(t, value)
    st, vw = t._ts_st, t._ts_view
    if st.version != st.version:
        ask_for_version(t)
    if vw is None:
        count(t)
        st.gen += 1
        st.value = value
    elif st.__class__ is HostStorage and write_part(t, st, vw, value):
        return
    else:
        whole = write_steps(st.value, vw.steps, value)
        seen = weakref(value)
        count(t)
        st.gen += 1
        st.value, vw.ref, vw.gen = whole, seen, st.gen
    if st.version != st.version:
        refuse_inference(t)                    # after the write: that is when torch notices


def write_part(t, st, vw, value):
    """`write` to a view of memory that others see, too: to its part of it. Whether it was done."""
    part = writable_part(st, vw) if context.trace.undo is None and "transform" not in context.modes else None
    if part is None:
        return False
    new = array_of(value)                      # may fail: nothing has happened yet
    count(t)
    np.copyto(part, new)
    st.value.extra.last = None
    if st.version != st.version:
        refuse_inference(t)
    return True


def rewrite(t, value, node):
    """`write` of what `node` made; None: of what has no gradient. The value and the history change together: whatever comes between two
    bytecodes finds both or neither, since no call stands between the first of these assignments and the last."""
    if writers.several and writers.free():
        with writers.hold((t,)):
            return rewrite(t, value, node)
    st, vw = t._ts_st, t._ts_view
    if st.version != st.version:
        write(t, value)                        # which refuses inference tensors
    whole = value if vw is None else write_steps(st.value, vw.steps, value)
    seen = weakref(value)
    hosted = st.__class__ is HostStorage
    if hosted:
        array_of(whole)                        # may fail: nothing has happened yet
    owner, e, writer, retained, nr = _history(t, node)
    count(t)
    saves = node is not None and node._ts_plan is not None and 0 in node._ts_plan.outs
    place = ((), 0) if vw is None else (vw.steps, vw.offset)
    if saves:
        extra = t._ts_extra                    # which may count for itself
        guard_output(node, 0, st if extra is None or extra.version is None else OwnVersion(st, extra.version), t, *place, later=1)
    st.writer = writer
    st.gen += 1
    if vw is not None:
        vw.ref, vw.gen = seen, st.gen
    if hosted:                                 # whose assignment runs code: who is interrupted there has written all the same
        _rewrite_hosted(st, whole, owner, e)
    else:
        st.value, owner._ts_edge = whole, e
    if retained is not None:
        retained.pop(nr, None)
    if owner is not t and t._ts_extra is not None and t._ts_extra.retains:
        edge(t)                                # its gradient is kept where its history is read anew
    if saves and node._ts_pack is not None:
        edge(t)                                # its history is read anew before somebody looks at it
        node._ts_pack(0, t)
    elif saves and owner is not t:
        guard_view(node, edge(t))


def _rewrite_hosted(st, whole, owner, e):
    try:
        st.value, owner._ts_edge = whole, e
    except BaseException:
        st.value, owner._ts_edge = whole, e
        raise


def put_slice_any(t, value, layout, nums=(), kinds=""):
    """Write through a basic index where no gradient is wanted: `value` is a tensor, or None and the number is packed. layout and numbers:
    see ops.views.slice_put."""
    if writers.several and writers.free():
        with writers.hold((t,)):
            return put_slice_any(t, value, layout, nums, kinds)
    if "transform" in context.modes and _captured is not None:
        _captured(t, SLICE_PUT, () if value is None else (value,), 0)
    va = read(t)
    vals = (va,) if value is None else (va, read(value))
    spec, number = layout
    open_ = (moving(SLICE_PUT, spec, number, vals, kinds) if context.trace.direct is None or va.array.__class__ is not np.ndarray
             else moving_part(spec, va.meta, True))
    if open_ is not None:
        spec, starts = open_
        nums, kinds = [*starts, *nums], "i" * len(starts) + kinds
    write(t, made_of(SLICE_PUT, (spec, number), vals, nums, kinds))


def apply_inplace(op, tensors, layout, nums=(), kinds="", overlap=None, turns=None):
    """An in-place operator: the result is written into the first tensor, which is returned. `overlap`: see `refuse_overlap`; `turns`: in
    which its elements are written, see in_turn.py, where that does not follow from how they lie."""
    if writers.several and writers.free():
        with writers.hold(tensors[:1]):
            return apply_inplace(op, tensors, layout, nums, kinds, overlap, turns)
    t = tensors[0]
    if "transform" in context.modes and _captured is not None:
        _captured(t, op, tensors, any([needs_grad(x) for x in tensors]))
    alone, follows = False, not op.unfollowed
    if follows and (context.grad is True and t._ts_view is not None or t._ts_edge is True):
        # among inference tensors alone torch does not ask the graph, but writes and notices then
        if t._ts_edge is True and is_inference(t):
            alone = not (nums and graph.wraps_one(op, layout)) and all([is_inference(x) for x in tensors])
        if not alone:
            check_inplace(t, needs_grad(t))    # before the histories of the others are asked for
    edges, needs, bit = [], 0, 1
    for x in tensors:
        e = edge(x) if follows else None       # what is not followed asks no view for a history that it lost
        edges.append(e)
        if e is not None:
            needs |= bit
        bit <<= 1
    if needs and not alone:
        check_inplace(t, True)
    vals = [read(x) for x in tensors]
    partly = (t._ts_st.__class__ is HostStorage and t._ts_view is None and t._ts_st.version == t._ts_st.version
              and context.trace.undo is None and "transform" not in context.modes)
    if partly:
        vals[0] = present(vals[0])             # what the result differs from
    if t._ts_view is not None or len(tensors) > 1 or vals[0].meta.coincident:
        try:
            refuse_overlap(t, tensors, overlap)
        except RuntimeError:
            _refuse_before_overlap(op, layout, [v.meta for v in vals], kinds)
            raise
    if turns is None and (overlap is None and (op.elementwise or op.name == "copy_")
            and (vals[0].meta.coincident or any([x._ts_st is t._ts_st and x is not t for x in tensors]))):
        turns = waves(op.name, tensors, op.name == "copy_")
    elif vals[0].meta.coincident and overlap in (None, "indexed") and op.name not in ("fill_", "zero_"):
        refuse_together(op.name, t)
    try:
        direct = context.trace.direct if turns is None and not (needs and context.grad) else None
        result = None if direct is None else direct.of(op, layout, vals, nums, kinds)
        if result is None:
            result, inst = record(context, op, layout, vals, nums, kinds)
        if turns is not None:
            result = in_turn(op, tensors, layout, vals, nums, kinds, result, turns)
    except Exception:
        if needs and context.grad:
            graph.refuse_to_save(op, layout, [v.meta for v in vals], kinds, [None, *tensors[1:]], edges)
        raise
    node = None
    if needs and context.grad:
        # what it saves of its target is the value before the write, which the write does not spoil
        node = graph.make_node(inst, needs, tuple(edges), vals, [None, *tensors[1:]], (result,), nums)
    if node is not None or follows and context.grad is True and edges[0] is not None and not inst.diff_outs:       # it was recorded then
        rewrite(t, result, node)
    elif partly:
        write_changed(t, result, vals[0])
    else:
        write(t, result)
    return t


#: What torch finds out after it has looked where a result would lie: shapes and dtypes that do not fit, dtypes that have no kernel.
_AFTER_OVERLAP = re.compile(r'The size of tensor|output with shape|"(?!cum)\w+" not implemented|result type \w+ can\'t be cast to \D+ [A-Z]')


def _refuse_before_overlap(op, layout, metas, kinds):
    """The error of an in-place operator whose result has no place to lie, where torch checks the operands before."""
    try:
        op.resolve(layout, tuple(metas), kinds)
    except Exception as error:
        if not _AFTER_OVERLAP.match(str(error)):
            raise error from None


def write_changed(t, value, before):
    """`write` to memory that others see, too, of what was computed of `before`, which was there: of what has changed."""
    array_of(value)                            # may fail: nothing has happened yet
    count(t)
    if not store_changed(t._ts_st, value, before):
        t._ts_st.value = value


# -- the history ----------------------------------------------------------------------------------------------------------
_after_write = None


def watch_writes(seen):
    """From now on `seen(t, e)` gives the edge that the tensor `t` gets, to which was written, in the place of `e`: a node, None, or the
    CopySlices of a base."""
    global _after_write
    _after_write = seen


def _history(t, node):
    """What is to change when `node` has written to `t`: (the tensor that owns the history, its new edge, the writer's name, where its
    retained gradient was told before: a dict or None, and its key there). A base gets torch's CopySlices."""
    vw = t._ts_view
    if node.__class__ is ForwardOnly and t._ts_edge is not None and not forward_only(t._ts_edge) and (vw is None or vw.base is None):
        if t._ts_edge is True or t._ts_edge.__class__ is graph.AccumulateGrad:
            raise NotImplementedError("torchshim: a write of a dual tensor, under no_grad, into a leaf")
        return t, _after_write(t, node), getattr(t._ts_st, "writer", None), None, 0
    log_edge(t)
    note_history(t)
    if vw is None or vw.base is None:
        owner, e, writer = t, node, None if node is None else type(node).__name__
    else:
        owner, writer = vw.base, "torch::autograd::CopySlices"
        log_edge(owner)
        note_history(owner)
        e = object.__new__(CopySlices)
        e._ts_inst = e._ts_plan = e._ts_extra = None
        e.fn, e.steps, e.meta = node, steps_from_base(vw), meta(owner)
        e._ts_next = (edge(owner),) + (tuple(node._ts_next[1:]) if node is not None else ())
        e._ts_saved, e._ts_guard, e._ts_nums, e._ts_seq = (), (), (), next(sequence)
    retained, nr = None, 0
    if owner._ts_extra is not None and owner._ts_extra.retains:
        retained, nr = retain_too(owner, owner._ts_edge, e)
    return owner, e if _after_write is None else _after_write(owner, e), writer, retained, nr


def rebase(t, node):
    """Let `node` be what has changed a tensor in place: its own history, or that of its base."""
    owner, e, writer, retained, nr = _history(t, node)
    t._ts_st.writer = writer
    owner._ts_edge = e
    if retained is not None:
        retained.pop(nr, None)
    if t._ts_view is not None:
        t._ts_view.seen = None


class CopySlices(Node):
    """The history of a base after a write through a view: its gradient flows to the old base where nothing was
    written, and through the write's own node (`fn`) where it was."""
    __slots__ = ("fn", "steps", "meta")

    @property
    def _ts_n_outputs(self):
        return 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_places(self, per_edge):
        return per_edge if self.fn is None else [per_edge[0], *self.fn._ts_places(per_edge)[1:]]

    def _ts_release(self):
        self._ts_saved = self.fn = None            # whatever it saved; what leads to the write's own node may still go through that


# -- inside of transforms -------------------------------------------------------------------------------------------------
class Born(int):
    """The version of memory that a function made while a transform ran it: a count that knows the transform's level."""

    def __new__(cls, level, count=0):
        made = super().__new__(cls, count)
        made.level = level
        return made

    def __add__(self, n):
        return Born(self.level, int(self) + n)

    def __ge__(self, other):
        """Never: the fast forms ask whether they may write without further questions."""
        return False

    __le__ = __ge__


_captured = None


def refuse_captured(check):
    """From now on `check(t, op, tensors, needs)` may refuse an in-place operator on `t` while a transform runs; `needs`: whether the graph
    has to follow it."""
    global _captured
    _captured = check


def ask(t, name, tensors=()):
    """What the transforms that are running say to the in-place operator `name`, which takes no general way, on `t`."""
    if "transform" in context.modes and _captured is not None:
        _captured(t, name, tensors, 0)


def unasked():
    """A block in which something is written that torch does not take for an in-place operator: `out=`, and lists of tensors."""
    return context.mode("unasked", True)


# -- refusals ---------------------------------------------------------------------------------------------------------------
def needs_grad(t):
    """torch's requires_grad: a view of something that needs a gradient needs one, even if made under no_grad. Unlike `edge` it does not
    refuse a view whose history is lost."""
    vw = t._ts_view
    return t._ts_edge is not None or vw is not None and vw.base is not None and vw.base._ts_edge is not None


def check_inplace(t, needs):
    """torch's refusals of in-place writes that the graph would have to follow; `needs`: some operand needs a gradient."""
    if not needs or context.grad is not True:
        return
    vw, counted = t._ts_view, t._ts_st.version
    if vw is not None and vw.base is not None and counted == counted:          # not NaN: no view of memory born in inference mode
        if vw.creation is not None:
            raise RuntimeError(creation_error(t, vw))
        if vw.base._ts_edge in (None, True) and needs_grad(t):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    elif t._ts_edge is True or t._ts_edge.__class__ is graph.AccumulateGrad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


class leaves_first:
    """What an in-place operator refuses of its arguments, the graph refuses first; and where it refuses the target, nothing is recorded."""
    __slots__ = ("t", "others")

    def __init__(self, t, *others):
        self.t, self.others = t, others

    def __enter__(self):
        t = self.t
        if isinstance(t, TensorBase) and (t._ts_edge is True or t._ts_view is not None):
            check_inplace(t, needs_grad(t))

    def __exit__(self, kind, error, tb):
        if isinstance(error, Exception) and isinstance(self.t, TensorBase):
            try:
                check_inplace(self.t, any([needs_grad(x) for x in (self.t, *self.others) if isinstance(x, TensorBase)]))
            except RuntimeError as first:
                raise first.with_traceback(None) from None


def refuse_overlap(t, tensors=(), mode=None):
    """torch's refusals of writes to memory where elements coincide: among themselves, or with an operand's. `mode` None is
    for elementwise operators, which may read what they write; "fill" does not mind coinciding elements; "indexed" may share
    nothing with its operands; "put" is both of these; "part" is "fill" with operands that are read element by element."""
    m = meta(t)
    if mode in (None, "indexed") and not m.contiguous and m.numel > 1 and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.")
    if mode == "fill":
        return                                 # the value is read before
    strict, itself = mode in ("indexed", "put"), False
    for x in tensors:
        if x._ts_st is t._ts_st:
            if x is t and not itself:
                itself = True                  # the target among its own operands
            elif x is t and strict or overlap_in_part(m, offset_of(t), meta(x), offset_of(x), strict):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")


def refuse_together(name, t):
    """Only the elementwise operators write elements of one place one after the other."""
    m = meta(t)
    if m.coincident and together(m.shape, m.strides) is not None:
        raise NotImplementedError(f"torchshim: {name} into a tensor whose elements lie in one place")


def overlap_in_part(m, at, mx, x_at, strict=False):
    """Whether torch refuses to write what `m` sees of a memory from its element `at` on, and reads what `mx` sees of it from `x_at` on."""
    if not m.numel or not mx.numel:
        return False
    a, b = at * m.dtype.itemsize, x_at * mx.dtype.itemsize
    a_end, b_end = a + m.numel * m.dtype.itemsize, b + mx.numel * mx.dtype.itemsize
    if b >= a_end or a >= b_end or not m.dense or not mx.dense:
        return False
    return strict or (a, a_end) != (b, b_end) or m.strides != mx.strides


# -- inference tensors -----------------------------------------------------------------------------------------------------
# The version of memory born in inference mode is NaN: a write that counts (`version += 1`) leaves it NaN, so `version != version` tells
# such memory at no cost for other memory, and no saved version ever equals it.
UNVERSIONED = float("nan")


def is_inference(t):
    """Whether the tensor was made in inference mode."""
    v = t._ts_st.version
    return v != v


def ask_for_version(t):
    """Before something happens to `t` in place: who allows what was saved to be written asks for its version first."""
    if "allow mutation" in context.modes and version(t) != version(t):
        raise RuntimeError("Inference tensors do not track version counter.")


def refuse_inference(t):
    """torch's refusal to write to an inference tensor outside of inference mode."""
    if not context.inference and version(t) != version(t):      # `.data` of one counts from 0
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                           "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.")
