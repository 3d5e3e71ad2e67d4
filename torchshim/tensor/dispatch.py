"""From a call on tensors to a record in the trace, a node in the graph and a new tensor. Everything passes here.

`apply` serves every operator; `apply1` and `apply2` are the same for one and two tensors without numbers, unrolled
because they are most of what a program does.
"""
from __future__ import annotations

from ..engine import Value, context, record
from ..engine.trace import Immediate
from ..engine.run import immediate
from .graph import Node, make_node, node_class, sequence
from .storage import Storage, View, new_storage, read_steps, write_steps

_new_storage = Storage.__new__
_new_value = Value.__new__


class TensorBase:
    """The fields of a Tensor; `Tensor` adds the API.

    `_edge` is None (no gradient), True (a leaf that wants one), a Node, or (Node, output number).
    """
    __slots__ = ("_st", "_view", "_edge", "_extra", "__weakref__", "__dict__")


Tensor = None              # set by tensor.py: the class that results get


def use_class(cls):
    global Tensor, _new_tensor
    Tensor, _new_tensor = cls, cls.__new__


def wrap(value, edge=None):
    """A tensor that owns a new storage."""
    t = _new_tensor(Tensor)
    st = _new_storage(Storage)
    st.value, st.gen, st.version, st.address = value, 0, 0, None
    t._st, t._view, t._edge, t._extra = st, None, edge, None
    return t


def read(t):
    """A tensor's current Value."""
    vw = t._view
    if vw is None:
        return t._st.value
    st = t._st
    if vw.gen != st.gen:
        vw.value = read_steps(st.value, vw.steps)
        vw.gen = st.gen
    return vw.value


def edge(t):
    """A tensor's current edge, with leaves as themselves; a view follows its base's history."""
    vw = t._view
    if vw is not None and vw.base is not None and vw.base_edge is not vw.base._edge:
        _follow_base(t, vw)
    e = t._edge
    return t if e is True else e


def _follow_base(t, vw):
    """The base was written in place since: this view's history goes through the base's new one."""
    base = vw.base
    vw.base_edge = base._edge
    if base._edge is None:
        return
    steps = vw.steps[vw.skip:]
    if not steps:
        t._edge = base._edge if base._edge is not True else base
        return
    t._edge = chain_node(base, steps)


def chain_node(base, steps):
    """A node that reads `steps` from `base`: a view's history made anew."""
    from .storage import Get, split_steps
    insts, nums, kinds = split_steps(steps)
    inst = Get.of(insts).resolve((), (insts[0].in_metas[0],), kinds)
    name = insts[-1].grad_fn_name if len(insts) == 1 else "AsStridedBackward0"
    e = edge(base)
    node = make_node(inst, 1, (e,), (None,), (None,), (None,), nums)
    if node.__class__.__name__ != name:
        node.__class__ = node_class(name)
    return node


def apply1(op, a, layout):
    """`op` on one tensor."""
    if a._view is None:
        va, ea = a._st.value, a._edge
        if ea is True:
            ea = a
    else:
        va, ea = read(a), edge(a)
    tr = context.trace
    try:
        sa = va.slot if va.trace is tr else tr.enter(va)
    except Immediate:
        return finish(*immediate(context, op, layout, (va,), (), ""), (va,), (ea,), (a,), ())
    if context.trace is not tr:
        return apply(op, (a,), layout)
    slots = (sa,)
    key = (op, layout, "", slots)
    st = tr.state.next.get(key)
    if st is None:
        st = tr.miss(op, layout, (va,), "", slots, key)
    inst = st.inst
    if inst.out.__class__ is tuple:
        return apply(op, (a,), layout)
    values = tr.values
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, len(values), inst.out, None, None
    values.append(v)
    tr.state = st
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, 0, None
    t._st, t._view, t._extra = s, None, None
    if ea is not None and context.grad:
        t._edge = node = make_node(inst, 1, (ea,), (va,), (a,), (v,), ())
        if node is not None and 0 in node.plan.outs:
            node.guard.append(s)
            node.guard.append(0)
    else:
        t._edge = None
    if len(values) >= tr.limit:
        tr.cut()
    return t


def apply2(op, a, b, layout):
    """`op` on two tensors."""
    if a._view is None:
        va, ea = a._st.value, a._edge
        if ea is True:
            ea = a
    else:
        va, ea = read(a), edge(a)
    if b._view is None:
        vb, eb = b._st.value, b._edge
        if eb is True:
            eb = b
    else:
        vb, eb = read(b), edge(b)
    tr = context.trace
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va), vb.slot if vb.trace is tr else tr.enter(vb))
    except Immediate:
        return finish(*immediate(context, op, layout, (va, vb), (), ""), (va, vb), (ea, eb), (a, b), ())
    if context.trace is not tr:
        return apply(op, (a, b), layout)
    key = (op, layout, "", slots)
    st = tr.state.next.get(key)
    if st is None:
        st = tr.miss(op, layout, (va, vb), "", slots, key)
    inst = st.inst
    if inst.out.__class__ is tuple:
        return apply(op, (a, b), layout)
    values = tr.values
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, len(values), inst.out, None, None
    values.append(v)
    tr.state = st
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, 0, None
    t._st, t._view, t._extra = s, None, None
    needs = (0 if ea is None else 1) | (0 if eb is None else 2)
    if needs and context.grad:
        t._edge = node = make_node(inst, needs, (ea, eb), (va, vb), (a, b), (v,), ())
        if node is not None and 0 in node.plan.outs:
            node.guard.append(s)
            node.guard.append(0)
    else:
        t._edge = None
    if len(values) >= tr.limit:
        tr.cut()
    return t


def apply(op, tensors, layout, nums=(), kinds=""):
    """`op` on tensors, with run-time numbers; a tensor, or a tuple of them when the operator returns several."""
    vals = [read(t) for t in tensors]
    edges = tuple([edge(t) for t in tensors])
    result, inst = record(context, op, layout, vals, nums, kinds)
    return finish(result, inst, vals, edges, tensors, nums)


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
            node = make_node(inst, needs, edges, vals, tensors, outs, nums)
    if node is None:
        if result.__class__ is list:
            return tuple([wrap(v) for v in outs])
        return wrap(result)
    made = []
    for k, v in enumerate(outs):
        t = wrap(v, None if k not in inst.diff_outs else node if len(outs) == 1 else (node, k))
        if k in node.plan.outs:
            node.guard.append(t._st)
            node.guard.append(0)
        made.append(t)
    return tuple(made) if result.__class__ is list else made[0]


# -- views ------------------------------------------------------------------------------------------------------------
def make_view(t, op, layout, offset, nums=(), kinds="", creation=None):
    """`t` seen through the view operator `op`; `offset` is the result's storage offset in elements."""
    va, ea = read(t), edge(t)
    result, inst = record(context, op, layout, (va,), nums, kinds)
    node = None
    if ea is not None and context.grad:
        node = make_node(inst, 1, (ea,), (va,), (t,), (result,), nums)
    y = alias(t, offset)
    vw = y._view
    vw.steps = vw.steps + ((inst, nums),)
    vw.value, vw.gen = result, t._st.gen
    y._edge = node
    if creation is None:
        creation = t._view.creation if t._view is not None else None
        if not context.grad:
            creation = "no_grad"
    vw.creation, vw.name = creation, inst.grad_fn_name
    return y


def alias(t, offset):
    """A tensor on the same storage, seeing what `t` sees, with `t`'s history as base."""
    y = _new_tensor(Tensor)
    vw = View.__new__(View)
    tv = t._view
    if tv is None:
        vw.steps, vw.skip, vw.base = (), 0, t
    else:
        vw.steps, vw.skip, vw.base = tv.steps, tv.skip, tv.base
        if tv.base is None:
            vw.skip, vw.base = len(tv.steps), t
    vw.offset = offset
    vw.value, vw.gen = read(t), t._st.gen
    vw.base_edge, vw.creation, vw.name = vw.base._edge, None, None
    y._st, y._view, y._edge, y._extra = t._st, vw, None, None
    extra = t._extra
    if extra is not None and extra.version is not None:
        y._more().version = extra.version
    return y


def detached(t):
    """`t.detach()`: the same storage and version, no history."""
    y = alias(t, t._view.offset if t._view is not None else 0)
    vw = y._view
    vw.base, vw.skip, vw.base_edge = None, 0, None
    if not vw.steps:
        y._view = None
    return y


# -- writing in place ---------------------------------------------------------------------------------------------------
def bump(t):
    st = t._st
    st.gen += 1
    extra = t._extra
    if extra is not None and extra.version is not None:
        extra.version[0] += 1
    else:
        st.version += 1


def write(t, value):
    """Make `value` what `t` holds; every tensor on its storage sees it."""
    st, vw = t._st, t._view
    if vw is None:
        st.value = value
        bump(t)
        return
    st.value = write_steps(st.value, vw.steps, value)
    bump(t)
    vw.value, vw.gen = value, st.gen


def check_inplace(t, needs_grad):
    """torch's refusals of in-place writes."""
    e, vw = t._edge, t._view
    if not context.grad:
        return
    if vw is not None and vw.base is not None:
        if not (needs_grad or edge(t) is not None or vw.base._edge is not None):
            return
        if vw.creation is not None:
            raise RuntimeError(_creation_error(t, vw))
        if vw.base._edge is True:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if e is True:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _creation_error(t, vw):
    e = edge(t)
    nr, node = (e[1], e[0]) if e.__class__ is tuple else (vw.name and 0 or 0, e)
    name = type(node).__name__ if isinstance(node, Node) else (vw.name or "AsStridedBackward0")
    if vw.creation == "multi":
        return (f"Output {getattr(vw, 'offset', 0) and nr or nr} of {name} is a view and is being modified inplace. This view is the output of a function that "
                "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
                "the inplace operation by an out-of-place one.")
    if vw.creation == "no_grad":
        return (f"A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use "
                "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
                "inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if "
                "you want the inplace to be tracked).")
    return "Inplace update to inference tensor outside InferenceMode is not allowed."


def apply_inplace(op, tensors, layout, nums=(), kinds="", target=0):
    """An in-place operator: the result is written into `tensors[target]`, which is returned."""
    t = tensors[target]
    edges = tuple([edge(x) for x in tensors])
    wants = any([e is not None for e in edges])
    check_inplace(t, wants)
    refuse_overlap(t)
    vals = [read(x) for x in tensors]
    result, inst = record(context, op, layout, vals, nums, kinds)
    node = None
    if context.grad and wants:
        needs = 0
        for i, e in enumerate(edges):
            if e is not None:
                needs |= 1 << i
        node = make_node(inst, needs, edges, vals, tensors, (result,), nums)
    write(t, result)
    if node is not None:
        if 0 in node.plan.outs:
            node.guard += [t._st, t._st.version]
        rebase(t, node)
    elif context.grad and edge(t) is not None and not inst.diff_outs:
        rebase(t, None)
    return t


def rebase(t, node):
    """After an in-place write: `t`'s history is `node`; a view writes it into its base's (torch's CopySlices)."""
    vw = t._view
    if vw is None or vw.base is None:
        t._edge = node
        return
    base, steps = vw.base, vw.steps[vw.skip:]
    if not steps:
        base._edge = node
        return
    cs = object.__new__(CopySlices)
    cs.inst = cs.plan = cs.extra = None
    cs.fn, cs.steps, cs.meta = node, steps, base_meta(base)
    cs.next = (edge(base),) + tuple([e for i, e in enumerate(node.next) if i > 0]) if node is not None else (edge(base),)
    cs.saved, cs.guard, cs.nums, cs.seq = (), (), (), next(sequence)
    base._edge = cs


def base_meta(base):
    return read(base).meta


class CopySlices(Node):
    """The history of a base after a write through a view: its gradient flows to the old base where nothing was
    written, and through the write's own node (`fn`) where it was."""
    __slots__ = ("fn", "steps", "meta")

    @property
    def n_outputs(self):
        return 1

    def out_meta(self, nr):
        return self.meta

    def needs_released(self):
        return self.saved is None

    def release(self):
        self.saved = None
        if self.fn is not None:
            self.fn.release()


def refuse_overlap(t):
    """Writing to an expanded tensor: several elements are one memory location."""
    m = read(t).meta
    if m.contiguous or m.numel < 2:
        return
    for n, s in zip(m.shape, m.strides):
        if n > 1 and s == 0:
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                               "location. Please clone() the tensor before performing the operation.")
