"""Views: tensors that see other tensors' storages."""
from __future__ import annotations

from weakref import ref as weakref

from numpy import ndarray

from ...engine import TRACED, Immediate, Value, context, record
from ...ops.views import SELECT, slice_op as SLICE_OP
from . import dispatch, graph
from .handle import edge, meta, offset_of, read, without_history
from .host import HostStorage, shared
from .moving import moving, moving_part
from .storage import ELSEWHERE, View

_new_tensor = object.__new__


def _unread():
    """The weak reference of a view that was not read yet."""
    return None


def view_at_once(direct, a, op, layout, offset):
    """`make_view` of small memory that is known, read when it is used; None where it is to be recorded. See engine/direct.py."""
    root = a._ts_st.value
    if root.array.__class__ is not ndarray or context.grad and not without_history(a):
        return None
    m = (a._ts_view or root).meta
    key = op, layout, m
    steps = direct.known.get(key)
    if steps is None:
        free = nums = None
        if op is SLICE_OP:
            free, nums = moving_part(layout[0], m) or (None, ())
        inst = op.resolve(layout, (m,), "") if free is None else op.resolve((free, layout[1]), (m,), "i" * len(nums))
        steps = direct.known.keep(key, ((inst, nums or ()),) if inst.op.on_host(inst) is not None else False)
    return _seen_as(a, steps, steps[0][0].out, None, offset, None, None) if steps else None


# -- fast forms, written by unroll.py --------------------------------------------------------------------------------------
def make_view(a, op, layout, offset):
    """`a` seen through the view operator `op`; `offset` is the result's storage offset in elements."""
    if a._ts_st.__class__ is HostStorage:         # read when it is used: it need not read all of the memory
        return make_view_any(a, op, layout, offset)
    direct = context.trace.direct
    if direct is not None:
        t = view_at_once(direct, a, op, layout, offset)
        if t is not None:
            return t
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        va, ea = read(a), edge(a) if context.grad else None
    tr = context.trace
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return make_view_any(a, op, layout, offset)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            return first_view(a, op, layout, offset)
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return make_view_any(a, op, layout, offset)
    tr.state = st
    node = graph.make_node(inst, 1, (ea,), (va,), (a,), (v,), ()) if ea is not None and context.grad else None
    t = _seen_as(a, ((inst, ()),), inst.out, v, offset, node, None)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


# -- end of what unroll.py writes ---------------------------------------------------------------------------------------


def make_view_any(t, op, layout, offset, nums=(), kinds="", creation=None, later=False):
    """`make_view` with run-time numbers, or with a reason why its result may not be written in place. `later`: read when it is used."""
    if later or shared(t._ts_st) or t._ts_st.value.extra is TRACED:    # it need not read all of shared memory
        va = result = None
        inst = op.resolve(layout, (meta(t),), kinds)
    else:
        va = read(t)
        result, inst = record(context, op, layout, (va,), nums, kinds)
    ea = edge(t)
    node = graph.make_node(inst, 1, (ea,), (va,), (t,), (result,), nums) if ea is not None and context.grad else None
    return _seen_as(t, ((inst, nums),), inst.out, result, offset, node, creation)


def first_view(t, op, layout, offset):
    """A view that did not come here before: a slice may be at a place that changes."""
    if op is SLICE_OP:
        spec, name = layout
        if t._ts_st.value.array is not None and not (context.grad and edge(t) is not None):
            open_ = moving_part(spec, meta(t))
            if open_ is not None:              # of memory that is known: read when it is used, which need not be in a trace
                free, nums = open_
                inst = SLICE_OP.resolve((free, name), (meta(t),), "i" * len(nums))
                return _seen_as(t, ((inst, nums),), inst.out, None, offset, None, None)
        open_ = moving(SLICE_OP, spec, name, (read(t),))
        if open_ is not None:
            free, nums = open_
            return make_view_any(t, SLICE_OP, (free, name), offset, nums, "i" * len(nums))
    return make_view_any(t, op, layout, offset)


def make_views(t, op, layout, offsets):
    """The views that a ViewsOp makes, each read when it is used: one node for all, and torch refuses in-place writes to them."""
    m, ea = meta(t), edge(t)
    inst = op.resolve(layout, (m,), "")
    node = graph.make_node(inst, 1, (ea,), (None,), (t,), (None,), ()) if ea is not None and context.grad else None
    return tuple([_seen_as(t, ((step, ()),), step.out, None, offset, None if node is None else (node, k), "multi")
                  for k, (step, offset) in enumerate(zip(inst.info, offsets))])


def elements(t):
    """Views of the numbers of a vector without a history, one after the other: the place is a run-time number of one operator,
    made once."""
    m, offset = meta(t), offset_of(t)
    step = SLICE_OP.resolve((((SELECT, None, 0, 1),), "UnbindBackward0"), (m,), "i")
    for k in range(m.numel):
        yield _seen_as(t, ((step, (k,)),), step.out, None, offset + k * m.strides[0], None, "multi")


def alias(t, offset):
    """A tensor on the same storage, seeing what `t` sees, without an edge yet."""
    return _seen_as(t, (), meta(t), read(t), offset, None, None)


def tensor_on(st, steps, offset, e, value=None):
    """A tensor with the edge `e` that sees `steps` of the memory `st` (or of an OwnVersion) and counts versions with it, as what a graph
    saved does; `offset`: where that lies, `value`: what it reads."""
    y, count = _new_tensor(dispatch.Tensor), None
    if st.__class__ is graph.OwnVersion:
        st, count = st.st, st.count
    y._ts_st, y._ts_view, y._ts_edge, y._ts_extra = st, None, e, None
    if steps:
        y._ts_view = vw = View()
        vw.steps, vw.skip, vw.base, vw.creation, vw.offset, vw.meta = steps, 0, None, None, offset, steps[-1][0].out
        vw.ref, vw.gen, vw.seen = (_unread, -1, st.version) if value is None else (weakref(value), st.gen, st.version)
    if count is not None:
        y._ts_more().version = count
    return y


def detached(t):
    """`t.detach()`: the same storage and version, no history."""
    if t._ts_view is None:
        y, st, extra = _new_tensor(dispatch.Tensor), t._ts_st, t._ts_extra
        y._ts_st = st
        y._ts_view = y._ts_edge = y._ts_extra = None
        if extra is not None and extra.version is not None and st.version == st.version:       # as `_seen_as`
            y._ts_more().version = extra.version
        return y
    y = alias(t, offset_of(t))
    vw = y._ts_view
    vw.base, vw.skip, vw.creation = None, 0, None
    if not vw.steps and not vw.offset:
        y._ts_view = None
    return y


def still_view(t, other):
    """The View with which `t` gets the memory that `other` sees: a view stays one of its base, whose history it follows."""
    old, new = t._ts_view, other._ts_view
    if old is None or old.base is None:
        return new
    vw = View()
    vw.steps, vw.offset, vw.meta = ((), 0, meta(other)) if new is None else (new.steps, new.offset, new.meta)
    vw.skip, vw.base, vw.creation, vw.seen = ELSEWHERE, old.base, old.creation, old.seen
    vw.ref, vw.gen = weakref(read(other)), other._ts_st.gen
    return vw


def _seen_as(t, steps, m, value, offset, e, creation):
    """A tensor on `t`'s storage, `steps` further; `value` is what it reads, None if nobody read it yet."""
    y, vw = _new_tensor(dispatch.Tensor), View()
    st, tv, extra = t._ts_st, t._ts_view, t._ts_extra
    y._ts_st = st
    y._ts_view = vw
    y._ts_edge = e
    y._ts_extra = None
    vw.skip = 0
    vw.base = t
    if tv is not None:
        steps = tv.steps + steps
        vw.skip = len(tv.steps)
        if tv.base is not None:
            vw.skip = tv.skip
            vw.base = tv.base
        if creation is None or tv.creation == "inference":
            creation = tv.creation
    if not context.grad:
        creation = "inference" if context.inference or tv is not None and tv.creation == "inference" else "no_grad"
    if st.version != st.version:
        vw.skip, vw.base = 0, None             # views of inference tensors have no history to follow
    vw.steps = steps
    vw.creation = creation
    vw.offset = offset
    vw.meta = m
    vw.seen = st.version
    if value is None:
        vw.ref = _unread
        vw.gen = -1
    else:
        vw.ref = weakref(value)
        vw.gen = st.gen
    if extra is not None and extra.version is not None and st.version == st.version:      # views of .data of inference tensors are such
        y._ts_more().version = extra.version
        vw.seen = extra.version[0]
    return y
