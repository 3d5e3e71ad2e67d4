"""From a call on tensors to a record in the trace, a node in the graph and a new tensor. Everything passes here.

`apply_any` serves every operator; `apply`, `apply1`, `apply2`, `apply3` and `apply_number` are the same for the calls that programs are
made of.
"""
from __future__ import annotations

from numpy import ndarray

from ...engine import TRACED, Immediate, Value, context, record
from ...engine.direct import number
from ...ops.registry import SF, SI
from . import graph
from .graph import guard_output
from .handle import edge, meta, read, without_history
from .storage import Storage

_new_tensor = object.__new__

Tensor = None              # set by tensor.py: the class that results get


def use_class(cls):
    global Tensor
    Tensor = cls


def wrap(value, edge=None, version=None):
    """A tensor that owns a new storage. version: what that begins with, where the caller knows the present trace's."""
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_extra = s.address = None
    t._ts_edge = edge
    s.value = value
    s.gen = 0
    s.version = context.version if version is None else version
    return t


def wrapped(x, dtype=None):
    """An int as int64 holds it: torch takes up to 2**64 - 1 and wraps, but does not say what that and a truth become."""
    if -2 ** 63 <= x < 2 ** 63:
        return x
    if 0 < x < 2 ** 64:
        if dtype is not None and dtype.kind == "b":
            raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool and UInt64")
        return x - 2 ** 64
    raise OverflowError("int too big to convert")


def beyond_int64(a, x, layout):
    """`apply`'s last arguments for an int that int64 does not hold: a floating tensor takes it as a float, others wrap."""
    dtype = meta(a).dtype
    if dtype.kind in "iub":
        return layout, (wrapped(x, dtype),), "i"
    wrapped(x)                                 # refused or not
    return tuple([SF if e is SI else e for e in layout]), (float(x),), "f"


def apply_any(op, tensors, layout, nums=(), kinds=""):
    """`op` on tensors, with run-time numbers: what the fast forms below leave out."""
    vals = [read(t) for t in tensors]
    edges = tuple([edge(t) for t in tensors])
    run = context.executor.immediate if "transform" in context.modes and any([v.extra is TRACED for v in vals]) else record
    result, inst = run(context, op, layout, vals, nums, kinds)
    return finish(result, inst, vals, edges, tensors, nums)


def missed(state, key, vals, tensors):
    """`state.miss`, whose errors come after what the graph refuses."""
    try:
        return state.miss(key, vals)
    except Exception as refused:
        if hasattr(refused, "at_once"):
            raise                              # before anybody asks
        op, layout, kinds, _ = key
        edges = [edge(t) if context.grad else None for t in tensors]
        if context.grad:
            graph.refuse_to_save(op, layout, [v.meta for v in vals], kinds, tensors, edges)
        words = getattr(op, "words", None)
        better = words and words([v.meta for v in vals], [e is not None for e in edges])
        if better:
            raise better from None
        raise


def unfollowed(error, op, tensors, layout, nums=(), kinds=""):
    """A call that failed when it asked its operands for their histories, which views can lose: an operator whose results have none does
    not ask."""
    if not context.grad:
        raise error
    try:
        inst = op.resolve(layout, tuple([meta(t) for t in tensors]), kinds)
    except Exception as refused:
        if op.composed or getattr(op, "grad", True) is None or hasattr(refused, "at_once"):
            raise                              # before anybody asks
        raise error from None
    if inst.diff_outs or op.composed:
        raise error
    before, context.grad = context.grad, False
    try:
        return apply_any(op, tensors, layout, nums, kinds)
    finally:
        context.grad = before


def finish(result, inst, vals, edges, tensors, nums):
    """Tensors around the Values of a call, with its node where a gradient is wanted."""
    outs = result if result.__class__ is list else [result]
    node = None
    if context.grad:
        needs = 0
        for i, e in enumerate(edges):
            if e is not None:
                needs |= 1 << i
        if needs:
            node = graph.make_node(inst, needs, edges, vals, tensors, outs, nums)
    if node is None:
        if result.__class__ is list:
            return tuple([wrap(v) for v in outs])
        return wrap(result)
    made = []
    for k, v in enumerate(outs):
        t = wrap(v, None if k not in inst.diff_outs else node if len(outs) == 1 else (node, k))
        if k in node._ts_plan.outs:
            guard_output(node, k, t._ts_st, t)
        made.append(t)
    return tuple(made) if result.__class__ is list else made[0]


def apply_at_once(tr, op, tensors, layout, nums, kinds):
    """`op` computed at once, where it is a small call that wants no gradient; else None. See engine/direct.py."""
    vals, grad = [], context.grad
    for t in tensors:
        v = t._ts_st.value if t._ts_view is None else read(t)
        if v.array.__class__ is not ndarray or grad and not without_history(t):
            return None
        vals.append(v)
    v = tr.direct.of(op, layout, vals, nums, kinds) if vals else None
    if v.__class__ is list:
        return tuple([wrap(w) for w in v])
    return None if v is None else wrap(v)


# -- fast forms, written by unroll.py --------------------------------------------------------------------------------------
def apply1(op, a, layout):
    """`op` on one tensor."""
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        try:
            va, ea = read(a), edge(a) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a,), layout)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray
            and not (ea is not None and context.grad)):
        key = (op, layout, "", va.meta)
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, va.array)
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
                t = _new_tensor(Tensor)
                t._ts_st = s = Storage()
                t._ts_view = t._ts_edge = t._ts_extra = s.address = None
                s.value = v
                s.gen = 0
                s.version = tr.version
                return t
        elif known[1] is not None:             # several results
            made = direct.call(key, va.array)
            if made is not None:
                return tuple([wrap(v) for v in made])
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a,), layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, (va,), (a,))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a,), layout)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a,), layout)
    tr.state = st
    if ea is not None and context.grad:
        t._ts_edge = node = graph.make_node(inst, 1, (ea,), (va,), (a,), (v,), ())
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply2(op, a, b, layout):
    """`op` on two tensors."""
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        try:
            va, ea = read(a), edge(a) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b), layout)
    if b._ts_view is None:
        vb, eb = b._ts_st.value, b._ts_edge
        if eb is True:
            eb = b
    else:
        try:
            vb, eb = read(b), edge(b) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b), layout)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray and vb.array.__class__ is ndarray
            and not ((ea is not None or eb is not None) and context.grad)):
        key = (op, layout, "", va.meta, vb.meta)
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, va.array, vb.array)
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
                t = _new_tensor(Tensor)
                t._ts_st = s = Storage()
                t._ts_view = t._ts_edge = t._ts_extra = s.address = None
                s.value = v
                s.gen = 0
                s.version = tr.version
                return t
        elif known[1] is not None:             # several results
            made = direct.call(key, va.array, vb.array)
            if made is not None:
                return tuple([wrap(v) for v in made])
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a, b), layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, (va, vb), (a, b))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a, b), layout)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a, b), layout)
    tr.state = st
    needs = (0 if ea is None else 1) | (0 if eb is None else 2)
    if needs and context.grad:
        t._ts_edge = node = graph.make_node(inst, needs, (ea, eb), (va, vb), (a, b), (v,), ())
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply3(op, a, b, c, layout):
    """`op` on three tensors."""
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        try:
            va, ea = read(a), edge(a) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b, c), layout)
    if b._ts_view is None:
        vb, eb = b._ts_st.value, b._ts_edge
        if eb is True:
            eb = b
    else:
        try:
            vb, eb = read(b), edge(b) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b, c), layout)
    if c._ts_view is None:
        vc, ec = c._ts_st.value, c._ts_edge
        if ec is True:
            ec = c
    else:
        try:
            vc, ec = read(c), edge(c) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b, c), layout)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray and vb.array.__class__ is ndarray and vc.array.__class__ is ndarray
            and not ((ea is not None or eb is not None or ec is not None) and context.grad)):
        key = (op, layout, "", va.meta, vb.meta, vc.meta)
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, va.array, vb.array, vc.array)
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
                t = _new_tensor(Tensor)
                t._ts_st = s = Storage()
                t._ts_view = t._ts_edge = t._ts_extra = s.address = None
                s.value = v
                s.gen = 0
                s.version = tr.version
                return t
        elif known[1] is not None:             # several results
            made = direct.call(key, va.array, vb.array, vc.array)
            if made is not None:
                return tuple([wrap(v) for v in made])
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),
                 vb.slot if vb.trace is tr else tr.enter(vb),
                 vc.slot if vc.trace is tr else tr.enter(vc))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a, b, c), layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, (va, vb, vc), (a, b, c))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a, b, c), layout)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a, b, c), layout)
    tr.state = st
    needs = (0 if ea is None else 1) | (0 if eb is None else 2) | (0 if ec is None else 4)
    if needs and context.grad:
        t._ts_edge = node = graph.make_node(inst, needs, (ea, eb, ec), (va, vb, vc), (a, b, c), (v,), ())
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply_number(op, a, x, layout, kind):
    """`op` on one tensor and one Python number, in the order that `layout` says."""
    if kind == "i" and not -2 ** 63 <= x < 2 ** 63:
        return apply(op, (a,), *beyond_int64(a, x, layout))
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        try:
            va, ea = read(a), edge(a) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a,), layout, (x,), kind)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray
            and not (ea is not None and context.grad)):
        key = (op, layout, kind, va.meta)
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, va.array, number(x, kind))
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
                t = _new_tensor(Tensor)
                t._ts_st = s = Storage()
                t._ts_view = t._ts_edge = t._ts_extra = s.address = None
                s.value = v
                s.gen = 0
                s.version = tr.version
                return t
        elif known[1] is not None:             # several results
            made = direct.call(key, va.array, number(x, kind))
            if made is not None:
                return tuple([wrap(v) for v in made])
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a,), layout, (x,), kind)
    key, st = (op, layout, kind, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, (va,), (a,))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a,), layout, (x,), kind)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a,), layout, (x,), kind)
    tr.state = st
    if ea is not None and context.grad:
        t._ts_edge = node = graph.make_node(inst, 1, (ea,), (va,), (a,), (v,), (x,))
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply_scaled(op, a, b, x, layout, kind):
    """`op` on two tensors and one float."""
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    else:
        try:
            va, ea = read(a), edge(a) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b), layout, (x,), kind)
    if b._ts_view is None:
        vb, eb = b._ts_st.value, b._ts_edge
        if eb is True:
            eb = b
    else:
        try:
            vb, eb = read(b), edge(b) if context.grad else None
        except RuntimeError as error:
            return unfollowed(error, op, (a, b), layout, (x,), kind)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray and vb.array.__class__ is ndarray
            and not ((ea is not None or eb is not None) and context.grad)):
        key = (op, layout, kind, va.meta, vb.meta)
        known = direct.known.get(key) or direct.meet(key)
        f = known[0]
        if f is not None:
            try:
                array = direct.run(f, va.array, vb.array, number(x, kind))
            except Exception:                  # what fails does so when it is looked at, and names the line
                pass
            else:
                made = array.__class__
                if made is list or made is tuple:
                    array, = array
                direct.left = left = direct.left - 1
                if left <= 0:
                    direct.pause()
                v = Value()
                v.trace = v.slot = v.extra = None
                v.meta = known[1]
                v.array = array
                t = _new_tensor(Tensor)
                t._ts_st = s = Storage()
                t._ts_view = t._ts_edge = t._ts_extra = s.address = None
                s.value = v
                s.gen = 0
                s.version = tr.version
                return t
        elif known[1] is not None:             # several results
            made = direct.call(key, va.array, vb.array, number(x, kind))
            if made is not None:
                return tuple([wrap(v) for v in made])
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a, b), layout, (x,), kind)
    key, st = (op, layout, kind, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, (va, vb), (a, b))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a, b), layout, (x,), kind)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a, b), layout, (x,), kind)
    tr.state = st
    needs = (0 if ea is None else 1) | (0 if eb is None else 2)
    if needs and context.grad:
        t._ts_edge = node = graph.make_node(inst, needs, (ea, eb), (va, vb), (a, b), (v,), (x,))
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply(op, tensors, layout, nums=(), kinds=""):
    """`op` on tensors, with run-time numbers; a tensor, or a tuple of them when the operator returns several."""
    tr = context.trace
    if tr.direct is not None:
        t = apply_at_once(tr, op, tensors, layout, nums, kinds)
        if t is not None:
            return t
    vals, edges, slots, needs, bit = [], [], [], 0, 1
    try:
        for t in tensors:
            if t._ts_view is None:
                v, e = t._ts_st.value, t._ts_edge
                if e is True:
                    e = t
            else:
                v, e = read(t), edge(t) if context.grad else None
            vals.append(v)
            edges.append(e)
            if e is not None:
                needs |= bit
            bit <<= 1
            slots.append(v.slot if v.trace is tr else tr.enter(v))
        state = tr.state
    except Immediate:
        state = None
    except RuntimeError as error:
        return unfollowed(error, op, tensors, layout, nums, kinds)
    slots, edges = tuple(slots), tuple(edges)
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, tensors, layout, nums, kinds)
    key, st = (op, layout, kinds, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = missed(state, key, vals, tensors)
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, tensors, layout, nums, kinds)
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    t = _new_tensor(Tensor)
    t._ts_st = s = Storage()
    t._ts_view = t._ts_edge = t._ts_extra = s.address = None
    s.value = v
    s.gen = 0
    s.version = tr.version
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    if kinds:
        tr.nums.extend(nums)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, tensors, layout, nums, kinds)
    tr.state = st
    if needs and context.grad:
        t._ts_edge = node = graph.make_node(inst, needs, edges, vals, tensors, (v,), nums)
        if node is not None and node._ts_plan.outs:
            if node._ts_pack is None:          # as guard_output
                node._ts_guard.append((len(node._ts_saved) - 1, s, s.version, 0, (), 0, None))
            else:
                guard_output(node, 0, s, t)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


# -- end of what unroll.py writes ---------------------------------------------------------------------------------------
