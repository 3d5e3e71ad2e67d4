"""The fast forms of writes in place where no gradient is wanted, with those of few operands: unroll.py writes them. What they leave out is
write.py's."""
from __future__ import annotations

from numpy import ndarray

from ...engine import Immediate, Value, context, writers
from ...engine.direct import number
from ...ops.views import slice_put as SLICE_PUT
from . import write as writes
from .dispatch import wrapped
from .elements import changed
from .handle import edge, read
from .storage import Storage
from .write import Born, apply_inplace, needs_grad, put_slice_any, write


# -- fast forms, written by unroll.py --------------------------------------------------------------------------------------
def inplace1(op, a, layout):
    """The in-place `op` on one tensor, which is returned."""
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return apply_inplace(op, (a,), layout)
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    elif context.grad and needs_grad(a):
        return apply_inplace(op, (a,), layout)
    else:
        va, ea = read(a), None
    if ea is not None and context.grad:
        return apply_inplace(op, (a,), layout)
    if va.meta.coincident:                   # it may be refused, but not for that alone
        return apply_inplace(op, (a,), layout)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray):
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
                s, extra = a._ts_st, a._ts_extra
                if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
                    s.gen += 1
                    s.version += 1
                    s.value = v
                else:
                    if tr.version.__class__ is Born:
                        writes._captured(a, op, (a,), 0)
                    write(a, v)
                return a
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_inplace(op, (a,), layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = state.miss(key, (va,))
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
        return apply_inplace(op, (a,), layout)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a,), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


def inplace2(op, a, b, layout):
    """The in-place `op` on two tensors, an elementwise one; the first is returned."""
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return apply_inplace(op, (a, b), layout)
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    elif context.grad and needs_grad(a):
        return apply_inplace(op, (a, b), layout)
    else:
        va, ea = read(a), None
    if b._ts_view is None:
        vb, eb = b._ts_st.value, b._ts_edge
        if eb is True:
            eb = b
    else:
        try:
            vb, eb = read(b), edge(b) if context.grad else None
        except RuntimeError:                   # it lost its history: what the target refuses comes first
            return apply_inplace(op, (a, b), layout)
    if (ea is not None or eb is not None) and context.grad:
        return apply_inplace(op, (a, b), layout)
    if va.meta.coincident:                   # it may be refused, but not for that alone
        return apply_inplace(op, (a, b), layout)
    if a._ts_st is b._ts_st and a is not b:    # it may be refused, or read what it has written
        return apply_inplace(op, (a, b), layout)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray and vb.array.__class__ is ndarray):
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
                s, extra = a._ts_st, a._ts_extra
                if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
                    s.gen += 1
                    s.version += 1
                    s.value = v
                else:
                    if tr.version.__class__ is Born:
                        writes._captured(a, op, (a, b), 0)
                    write(a, v)
                return a
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_inplace(op, (a, b), layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = state.miss(key, (va, vb))
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
        return apply_inplace(op, (a, b), layout)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a, b), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


def inplace_number(op, a, x, layout, kind):
    """The in-place `op` on one tensor, which is returned, and one Python number."""
    if kind == "i" and not -2 ** 63 <= x < 2 ** 63:
        return apply_inplace(op, (a,), layout, (wrapped(x),), kind)
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return apply_inplace(op, (a,), layout, (x,), kind)
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    elif context.grad and needs_grad(a):
        return apply_inplace(op, (a,), layout, (x,), kind)
    elif not a._ts_view.meta.ndim and changed(op, a, x, layout, kind):
        return a
    else:
        va, ea = read(a), None
    if ea is not None and context.grad:
        return apply_inplace(op, (a,), layout, (x,), kind)
    if va.meta.coincident:                   # it may be refused, but not for that alone
        return apply_inplace(op, (a,), layout, (x,), kind)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray):
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
                s, extra = a._ts_st, a._ts_extra
                if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
                    s.gen += 1
                    s.version += 1
                    s.value = v
                else:
                    if tr.version.__class__ is Born:
                        writes._captured(a, op, (a,), 0)
                    write(a, v)
                return a
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_inplace(op, (a,), layout, (x,), kind)
    key, st = (op, layout, kind, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = state.miss(key, (va,))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_inplace(op, (a,), layout, (x,), kind)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a,), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


def inplace_scaled(op, a, b, x, layout, kind):
    """The in-place `op` on two tensors, an elementwise one, and one float; the first is returned."""
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return apply_inplace(op, (a, b), layout, (x,), kind)
    if a._ts_view is None:
        va, ea = a._ts_st.value, a._ts_edge
        if ea is True:
            ea = a
    elif context.grad and needs_grad(a):
        return apply_inplace(op, (a, b), layout, (x,), kind)
    else:
        va, ea = read(a), None
    if b._ts_view is None:
        vb, eb = b._ts_st.value, b._ts_edge
        if eb is True:
            eb = b
    else:
        try:
            vb, eb = read(b), edge(b) if context.grad else None
        except RuntimeError:                   # it lost its history: what the target refuses comes first
            return apply_inplace(op, (a, b), layout, (x,), kind)
    if (ea is not None or eb is not None) and context.grad:
        return apply_inplace(op, (a, b), layout, (x,), kind)
    if va.meta.coincident:                   # it may be refused, but not for that alone
        return apply_inplace(op, (a, b), layout, (x,), kind)
    if a._ts_st is b._ts_st and a is not b:    # it may be refused, or read what it has written
        return apply_inplace(op, (a, b), layout, (x,), kind)
    tr = context.trace
    direct = tr.direct
    if (direct is not None and va.array.__class__ is ndarray and vb.array.__class__ is ndarray):
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
                s, extra = a._ts_st, a._ts_extra
                if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
                    s.gen += 1
                    s.version += 1
                    s.value = v
                else:
                    if tr.version.__class__ is Born:
                        writes._captured(a, op, (a, b), 0)
                    write(a, v)
                return a
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_inplace(op, (a, b), layout, (x,), kind)
    key, st = (op, layout, kind, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = state.miss(key, (va, vb))
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_inplace(op, (a, b), layout, (x,), kind)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a, b), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


def put_slice(a, b, layout, op=SLICE_PUT):
    """Write the tensor `b` through a basic index of `a`, where no gradient is wanted."""
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return put_slice_any(a, b, layout)
    if context.trace.direct is not None:
        return put_slice_any(a, b, layout)
    va = a._ts_st.value if a._ts_view is None else read(a)
    vb = b._ts_st.value if b._ts_view is None else read(b)
    tr = context.trace
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return put_slice_any(a, b, layout)
    key, st = (op, layout, "", slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            return put_slice_any(a, b, layout)
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
        return put_slice_any(a, b, layout)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a, b), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


def put_slice_number(a, x, layout, kind, op=SLICE_PUT):
    """Write a Python number through a basic index of `a`, where no gradient is wanted."""
    if writers.several and (writers.threads or a._ts_st.__class__ is not Storage):
        return put_slice_any(a, None, layout, (x,), kind)
    if context.trace.direct is not None:
        return put_slice_any(a, None, layout, (x,), kind)
    va = a._ts_st.value if a._ts_view is None else read(a)
    tr = context.trace
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
        state = tr.state
    except Immediate:
        state = None
    if state is None:                          # reading or entering an operand has computed this trace
        return put_slice_any(a, None, layout, (x,), kind)
    key, st = (op, layout, kind, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            return put_slice_any(a, None, layout, (x,), kind)
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    v = Value()
    v.trace = tr
    v.slot = n
    v.meta = inst.out
    v.array = v.extra = None
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return put_slice_any(a, None, layout, (x,), kind)
    tr.state = st
    s, extra = a._ts_st, a._ts_extra
    if a._ts_view is None and tr.undo is None and (extra is None or extra.version is None) and s.version >= tr.version:
        s.gen += 1
        s.version += 1
        s.value = v
    else:
        if tr.version.__class__ is Born:
            writes._captured(a, op, (a,), 0)
        write(a, v)
    if st.n_values >= tr.limit:
        tr.cut()
    return a


# -- end of what unroll.py writes ---------------------------------------------------------------------------------------
