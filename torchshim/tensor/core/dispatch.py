"""From a call on tensors to a record in the trace, a node in the graph and a new tensor. Everything passes here.

`apply_any` serves every operator; `apply`, `apply1`, `apply2` and `apply_number` are the same for the calls that programs are made of.
"""
from __future__ import annotations

from weakref import ref as weakref

from ...engine import Memory, TRACED, Immediate, Value, array_of, context, is_host, record, user_site, value_of
from ...ops.registry import SF, SI
from ...ops.views import NEW, SELECT, alias as ALIAS, slice_op as SLICE_OP, slice_put as SLICE_PUT
from .graph import ForwardOnly, Node, forward_only, guard_output, make_node, move_retained, sequence
from .host import HostStorage, part
from .storage import Get, SharedCount, Storage, View, log_write, read_steps, split_steps, write_steps

_new_storage = Storage.__new__
_new_view = View.__new__
_new_value = Value.__new__


class TensorBase:
    """The fields of a Tensor; `Tensor` adds the API.

    `_edge` is None (no gradient), True (a leaf that wants one), a Node, or (Node, output number).
    """
    __slots__ = ("_st", "_view", "_edge", "_extra", "__weakref__", "__dict__")


Tensor = None              # set by tensor.py: the class that results get


def use_class(cls):
    global Tensor, _new_tensor
    Tensor, _new_tensor = cls, object.__new__


_plain_node, _around = make_node, {}


def around_nodes(key, wrapper):
    """Let `wrapper(make_node)` make the nodes of all threads' calls, where somebody wants to see them; None ends it. This
    replaces the name that the calls use: without a wrapper nodes are made as if there were no such thing."""
    global make_node
    _around.pop(key, None)
    if wrapper is not None:
        _around[key] = wrapper
    make_node = _plain_node
    for w in _around.values():
        make_node = w(make_node)


def wrap(value, edge=None):
    """A tensor that owns a new storage."""
    t = _new_tensor(Tensor)
    st = _new_storage(Storage)
    st.value, st.gen, st.version, st.address = value, 0, context.version, None
    t._st, t._view, t._edge, t._extra = st, None, edge, None
    return t


def read(t):
    """A tensor's current Value."""
    vw = t._view
    if vw is None:
        return t._st.value
    st = t._st
    if vw.gen == st.gen:
        v = vw.ref()
        if v is not None and (v.array is not None or v.trace is None or v.trace.state is not None):
            return v                           # else its trace ended while nobody held it, and a frame somewhere keeps it from dying
    v = _read_again(t, vw, st.value)
    vw.ref, vw.gen = weakref(v), st.gen
    return v


def _read_again(t, vw, root):
    """What a view sees of its storage's present Value."""
    if t._st.__class__ is HostStorage:
        now = part(t._st, vw)
        if now is not None:
            return now
    steps, m = vw.steps, vw.meta
    if (root.array is not None and root.extra is not TRACED and m.contiguous and 4 * m.numel <= root.meta.numel
            and is_host(m.device)):
        return value_of(look(t), m)            # a small part of known memory: not worth a program for each place
    if len(steps) == 1:
        inst, nums = steps[0]
        op, layout, kinds = inst.op, inst.layout, inst.kinds
        if op is SLICE_OP and not kinds:
            free = _moving(op, layout[0], layout[1], (root,))
            if free is not None:
                nums = [e[1] for e, f in zip(layout[0], free) if e is not f]
                layout, kinds = (free, layout[1]), "i" * len(nums)
        return record(context, op, layout, (root,), nums, kinds)[0]
    return read_steps(root, steps)


def _unread():
    """The weak reference of a view that was not read yet."""
    return None


def meta(t):
    """A tensor's Meta, without recording anything."""
    vw = t._view
    return t._st.value.meta if vw is None else vw.meta


def look(t):
    """A tensor's array, computed. A view of host memory is looked at where it lies."""
    vw, v = t._view, t._st.value
    if v.extra.__class__ is Memory or vw is None or v.extra is TRACED or not is_host(v.meta.device):
        return array_of(read(t))
    a = array_of(v)
    for inst, nums in vw.steps:
        a = inst.interpreted()(a, *nums)[0]
    return a


def edge(t):
    """A tensor's current edge, with leaves as themselves; a view follows its base's history."""
    vw = t._view
    if vw is not None and vw.base is not None:
        if vw.seen != version(t):
            _follow_base(t, vw)
        if t._edge is None and vw.base._edge is not None:
            return t                           # see graph.leads_nowhere
    e = t._edge
    return t if e is True else e


def tangent_of(t):
    """The tangent of a dual tensor (autograd/forward_ad.py), else None."""
    level = context.modes.get("forward AD")
    e = None if level is None else edge(t)
    return None if e is None else level.of(e)


def version(t):
    """What torch counts as the tensor's version."""
    extra = t._extra
    return t._st.version if extra is None or extra.version is None else extra.version[0]


def keep_count(t):
    """Before `t` gets other memory: it goes on counting versions with what shares its memory now, as in torch."""
    x = t._more()
    x.version = x.version or SharedCount(t._st)


def _follow_base(t, vw):
    """The memory was written since: this view's history goes through its base's present one."""
    base = vw.base
    if base._edge is not None or t._edge not in (None, True) and vw.creation is None:
        if vw.creation is not None:
            if not context.grad:
                return                         # nobody asks for its history here
            raise RuntimeError(_creation_error(t, vw, True))
        log_edge(t)
        before, t._edge = t._edge, chain_node(base, vw.steps[vw.skip:])
        if t._extra is not None and t._extra.retains:
            move_retained(t, before, t._edge)
        vw.seen = version(t)


def log_edge(t):
    """Before a tensor gets another history, or other memory, while a check is pending."""
    undo = context.trace.undo
    if undo is not None:
        e, vw, st = t._edge, t._view, t._st
        seen = None if vw is None else vw.seen

        def restore():
            t._edge, t._view, t._st = e, vw, st
            if vw is not None:
                vw.seen = seen
        undo.append(restore)


def log_grad(t):
    """Before `t.grad` becomes another tensor while a check is pending."""
    undo = context.trace.undo
    if undo is not None:
        extra = t._extra
        grad = None if extra is None else extra.grad

        def restore():
            t._more().grad = grad
        undo.append(restore)


def chain_node(base, steps):
    """A node that reads `steps` from `base`: a view's history made anew."""
    if not steps:
        inst = ALIAS.resolve(("AliasBackward0",), (meta(base),), "")
        return make_node(inst, 1, (edge(base),), (None,), (None,), (None,), ())
    insts, nums, kinds = split_steps(steps)
    inst = Get.of(insts).resolve((), (insts[0].in_metas[0],), kinds)
    return make_node(inst, 1, (edge(base),), (read(base),), (None,), (None,), nums)


def wrapped(x):
    """An int as int64 holds it: torch takes up to 2**64 - 1 and wraps."""
    if -2 ** 63 <= x < 2 ** 63:
        return x
    if 0 < x < 2 ** 64:
        return x - 2 ** 64
    raise OverflowError("int too big to convert")


def beyond_int64(a, x, layout):
    """`apply`'s last arguments for an int that int64 does not hold: a floating tensor takes it as a float, others wrap."""
    if meta(a).dtype.kind in "iub":
        return layout, (wrapped(x),), "i"
    return tuple([SF if e is SI else e for e in layout]), (float(x),), "f"


def apply_any(op, tensors, layout, nums=(), kinds=""):
    """`op` on tensors, with run-time numbers: what the fast forms below leave out."""
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
            guard_output(node, k, t._st)
        made.append(t)
    return tuple(made) if result.__class__ is list else made[0]


# -- fast forms of `apply_any`, written by unroll.py -----------------------------------------------------------------------
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
        slots = (va.slot if va.trace is tr else tr.enter(va),)
    except Immediate:
        return apply_any(op, (a,), layout)
    state = tr.state
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a,), layout)
    key = (op, layout, "", slots)
    st = state.next.get(key)
    if st is None:
        st = state.miss(key, (va,))
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a,), layout)
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, n, inst.out, None, None
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, tr.version, None
    t._st, t._view, t._edge, t._extra = s, None, None, None
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a,), layout)
    tr.state = st
    if ea is not None and context.grad:
        t._edge = node = make_node(inst, 1, (ea,), (va,), (a,), (v,), ())
        if node is not None and node.plan.outs:
            guard_output(node, 0, s)
    if st.n_values >= tr.limit:
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
        return apply_any(op, (a, b), layout)
    state = tr.state
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a, b), layout)
    key = (op, layout, "", slots)
    st = state.next.get(key)
    if st is None:
        st = state.miss(key, (va, vb))
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a, b), layout)
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, n, inst.out, None, None
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, tr.version, None
    t._st, t._view, t._edge, t._extra = s, None, None, None
    if len(values) != n:
        tr.trim(state)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a, b), layout)
    tr.state = st
    needs = (0 if ea is None else 1) | (0 if eb is None else 2)
    if needs and context.grad:
        t._edge = node = make_node(inst, needs, (ea, eb), (va, vb), (a, b), (v,), ())
        if node is not None and node.plan.outs:
            guard_output(node, 0, s)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply_number(op, a, x, layout, kind):
    """`op` on one tensor and one Python number, in the order that `layout` says."""
    if kind == "i" and not -2 ** 63 <= x < 2 ** 63:
        return apply(op, (a,), *beyond_int64(a, x, layout))
    if a._view is None:
        va, ea = a._st.value, a._edge
        if ea is True:
            ea = a
    else:
        va, ea = read(a), edge(a)
    tr = context.trace
    try:
        slots = (va.slot if va.trace is tr else tr.enter(va),)
    except Immediate:
        return apply_any(op, (a,), layout, (x,), kind)
    state = tr.state
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, (a,), layout, (x,), kind)
    key = (op, layout, kind, slots)
    st = state.next.get(key)
    if st is None:
        st = state.miss(key, (va,))
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, (a,), layout, (x,), kind)
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, n, inst.out, None, None
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, tr.version, None
    t._st, t._view, t._edge, t._extra = s, None, None, None
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    tr.nums.append(x)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, (a,), layout, (x,), kind)
    tr.state = st
    if ea is not None and context.grad:
        t._edge = node = make_node(inst, 1, (ea,), (va,), (a,), (v,), (x,))
        if node is not None and node.plan.outs:
            guard_output(node, 0, s)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


def apply(op, tensors, layout, nums=(), kinds=""):
    """`op` on tensors, with run-time numbers; a tensor, or a tuple of them when the operator returns several."""
    tr = context.trace
    vals, edges, slots, needs, bit = [], [], [], 0, 1
    try:
        for t in tensors:
            if t._view is None:
                v, e = t._st.value, t._edge
                if e is True:
                    e = t
            else:
                v, e = read(t), edge(t)
            vals.append(v)
            edges.append(e)
            if e is not None:
                needs |= bit
            bit <<= 1
            slots.append(v.slot if v.trace is tr else tr.enter(v))
    except Immediate:
        return apply_any(op, tensors, layout, nums, kinds)
    slots, edges = tuple(slots), tuple(edges)
    state = tr.state
    if state is None:                          # reading or entering an operand has computed this trace
        return apply_any(op, tensors, layout, nums, kinds)
    key = (op, layout, kinds, slots)
    st = state.next.get(key)
    if st is None:
        st = state.miss(key, vals)
    inst, values, n = st.inst, tr.values, state.n_values
    if inst.out.__class__ is tuple:
        return apply_any(op, tensors, layout, nums, kinds)
    v = _new_value(Value)
    v.trace, v.slot, v.meta, v.array, v.extra = tr, n, inst.out, None, None
    t = _new_tensor(Tensor)
    s = _new_storage(Storage)
    s.value, s.gen, s.version, s.address = v, 0, tr.version, None
    t._st, t._view, t._edge, t._extra = s, None, None, None
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    if kinds:
        tr.nums.extend(nums)
    values.append(v)
    if tr.state is not state:                  # something was recorded in between
        return apply_any(op, tensors, layout, nums, kinds)
    tr.state = st
    if needs and context.grad:
        t._edge = node = make_node(inst, needs, edges, vals, tensors, (v,), nums)
        if node is not None and node.plan.outs:
            guard_output(node, 0, s)
    if st.n_values >= tr.limit:
        tr.cut()
    return t


# -- end of what unroll.py writes ---------------------------------------------------------------------------------------


# -- views ------------------------------------------------------------------------------------------------------------
def make_view(t, op, layout, offset, nums=(), kinds="", creation=None):
    """`t` seen through the view operator `op`; `offset` is the result's storage offset in elements."""
    if t._st.__class__ is HostStorage:         # read when it is used: it need not read all of the memory
        va = result = None
        inst = op.resolve(layout, (meta(t),), kinds)
    else:
        va = read(t)
        result, inst = record(context, op, layout, (va,), nums, kinds)
    ea = edge(t)
    node = make_node(inst, 1, (ea,), (va,), (t,), (result,), nums) if ea is not None and context.grad else None
    return _seen_as(t, ((inst, nums),), inst.out, result, offset, node, creation)


def make_views(t, op, layout, offsets):
    """The views that a ViewsOp makes, each read when it is used: one node for all, and torch refuses in-place writes to them."""
    m, ea = meta(t), edge(t)
    inst = op.resolve(layout, (m,), "")
    node = make_node(inst, 1, (ea,), (None,), (None,), (None,), ()) if ea is not None and context.grad else None
    return tuple([_seen_as(t, ((step, ()),), step.out, None, offset, None if node is None else (node, k), "multi")
                  for k, (step, offset) in enumerate(zip(inst.info, offsets))])


def elements(t):
    """Views of the numbers of a vector without a history, one after the other: the place is a run-time number of one operator, made once."""
    m, offset = meta(t), 0 if t._view is None else t._view.offset
    step = SLICE_OP.resolve((((SELECT, None, 0, 1),), "UnbindBackward0"), (m,), "i")
    for k in range(m.numel):
        yield _seen_as(t, ((step, (k,)),), step.out, None, offset + k * m.strides[0], None, "multi")


def _seen_as(t, steps, m, value, offset, e, creation):
    """A tensor on `t`'s storage, `steps` further; `value` is what it reads, None if nobody read it yet."""
    y = _new_tensor(Tensor)
    vw = _new_view(View)
    st, tv = t._st, t._view
    if tv is None:
        vw.steps, vw.skip, vw.base = steps, 0, t
    else:
        vw.steps, vw.skip, vw.base = tv.steps + steps, tv.skip, tv.base
        if tv.base is None:
            vw.skip, vw.base = len(tv.steps), t
        if creation is None:
            creation = tv.creation
    if not context.grad:
        creation = "inference" if context.inference else "no_grad"
        if st.version != st.version:
            vw.skip, vw.base = 0, None         # views of inference tensors have no history to follow
    vw.creation, vw.offset, vw.meta = creation, offset, m
    if value is None:
        vw.ref, vw.gen = _unread, -1
    else:
        vw.ref, vw.gen = weakref(value), st.gen
    y._st, y._view, y._edge, y._extra = st, vw, e, None
    extra = t._extra
    if extra is not None and extra.version is not None:
        y._more().version = extra.version
        vw.seen = extra.version[0]
    else:
        vw.seen = st.version
    return y


def alias(t, offset):
    """A tensor on the same storage, seeing what `t` sees, without an edge yet."""
    return _seen_as(t, (), meta(t), read(t), offset, None, None)


def detached(t):
    """`t.detach()`: the same storage and version, no history."""
    y = alias(t, t._view.offset if t._view is not None else 0)
    vw = y._view
    vw.base, vw.skip, vw.creation = None, 0, None
    if not vw.steps and not vw.offset:
        y._view = None
    return y


# A loop that slices at another place in each of its rounds must not make a program for each. The numbers are static at
# first; when the same line at the same depth of a trace has shown more than DIFFERENT of them, they become run-time numbers.
DIFFERENT = 3
_starts_seen: dict = {}


def slice_view(t, spec, offset, name):
    """The view of a basic index; see `ops.views.slice_op` for the spec."""
    free = None if t._st.__class__ is HostStorage else _moving(SLICE_OP, spec, name, (read(t),))
    if free is None:
        return make_view(t, SLICE_OP, (spec, name), offset)
    nums = [e[1] for e, f in zip(spec, free) if e is not f]
    return make_view(t, SLICE_OP, (free, name), offset, nums, "i" * len(nums))


def slice_write(t, spec, value, number=None, nums=(), kinds=""):
    """Write through a basic index where no gradient is wanted: `value` is a tensor, or None and the number is packed."""
    va = read(t)
    vals = (va,) if value is None else (va, read(value))
    free = _moving(SLICE_PUT, spec, number, vals, kinds)
    if free is not None:
        starts = [e[1] for e, f in zip(spec, free) if e is not f]
        spec, nums, kinds = free, [*starts, *nums], "i" * len(starts) + kinds
    write(t, record(context, SLICE_PUT, (spec, number), vals, nums, kinds)[0])


def _moving(op, spec, name, vals, kinds=""):
    """The spec with run-time places, if this is a place in the program that slices at changing ones."""
    tr = context.trace
    try:
        slots = tuple([v.slot if v.trace is tr else tr.enter(v) for v in vals])
    except Immediate:
        return None
    state = tr.state
    if state is None or (op, (spec, name), kinds, slots) in state.next:
        return None
    free = _free_spec(spec, vals[0].meta)
    return free if free is not spec and _moves(state, op, free, name, slots, spec, vals[0].meta) else None


def _free_spec(spec, m):
    """`spec` with the places of its parts left open; itself where it has none."""
    free, d = [], 0
    for e in spec:
        if e[0] == NEW:
            free.append(e)
            continue
        free.append((e[0], None, e[2], e[3]) if e[0] == SELECT or e[2] != m.shape[d] else e)
        d += 1
    free = tuple(free)
    return spec if free == spec else free


def _moves(state, op, free, name, slots, spec, m):
    """Remembered on the state, decided on a miss."""
    key = (op, (free, name), slots)
    variants = state.variants
    if variants is not None and key in variants:
        return True
    if len(_starts_seen) > 100_000:
        _starts_seen.clear()
    seen = _starts_seen.setdefault((user_site(), op, free, m, state.n_ops), set())
    if len(seen) <= DIFFERENT:
        seen.add(spec)
    if len(seen) <= DIFFERENT:
        return False
    state.kept()[key] = True
    for k in [k for k in list(state.next) if k.__class__ is tuple and k[0] is op and k[3] == slots]:
        if k[1][1] == name and k[1][0] != free and _free_spec(k[1][0], m) == free:
            state.next.pop(k, None)            # else the first rounds would go on being programs of their own
    return True


# -- inference tensors -----------------------------------------------------------------------------------------------------
# The version of memory born in inference mode is NaN: a write that counts (`version += 1`) leaves it NaN, so `version != version` tells
# such memory at no cost for other memory, and no saved version ever equals it.
UNVERSIONED = float("nan")


def is_inference(t):
    """Whether the tensor was made in inference mode."""
    v = t._st.version
    return v != v


def refuse_inference(t):
    """torch's refusal to write to an inference tensor outside of inference mode."""
    if not context.inference and is_inference(t):
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                           "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.")


# -- writing in place ---------------------------------------------------------------------------------------------------
def bump(t):
    """Count a write to `t` that comes next."""
    st, extra = t._st, t._extra
    undo = context.trace.undo
    if undo is not None:
        log_write(undo, st, None if extra is None else extra.version)
    st.gen += 1
    if extra is not None and extra.version is not None:
        extra.version[0] += 1
    else:
        st.version += 1


def set_value(t, value):
    """Make `value` what a tensor that is no view holds."""
    bump(t)                                    # first: whoever is interrupted here has counted a write that did not happen
    t._st.value = value


def write(t, value):
    """Make `value` what `t` holds; every tensor on its storage sees it."""
    st, vw = t._st, t._view
    if vw is None:
        bump(t)
        st.value = value
    else:
        whole = write_steps(st.value, vw.steps, value)
        seen = weakref(value)
        bump(t)
        st.value, vw.ref, vw.gen = whole, seen, st.gen
    if st.version != st.version:
        refuse_inference(t)                    # after the write: that is when torch notices


def needs_grad(t):
    """torch's requires_grad: a view of something that needs a gradient needs one, even if made under no_grad."""
    return edge(t) is not None


def check_inplace(t, needs):
    """torch's refusals of in-place writes that the graph would have to follow; `needs`: some operand needs a gradient."""
    if not needs or context.grad is not True:
        return
    vw = t._view
    if vw is not None and vw.base is not None:
        if vw.creation is not None:
            raise RuntimeError(_creation_error(t, vw))
        if vw.base._edge in (None, True) and needs_grad(t):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    elif t._edge is True:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


class leaves_first:
    """What an in-place operator refuses of its arguments, the graph refuses first."""
    __slots__ = ("t",)

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        pass

    def __exit__(self, kind, error, tb):
        if isinstance(error, Exception) and isinstance(self.t, TensorBase):
            try:
                check_inplace(self.t, needs_grad(self.t))
            except RuntimeError as first:
                raise first.with_traceback(None) from None


def _creation_error(t, vw, indirect=False):
    """Why a view may not be written in place; `indirect`: its memory was written through another tensor."""
    e = t._edge
    node, nr = e if e.__class__ is tuple else (e, 0)
    mode = "inference" if vw.creation == "inference" else "no_grad"
    what = "its base or another view of its base has been" if indirect else "is being"
    if vw.creation not in ("multi", "custom") or not isinstance(node, Node):
        where = "in normal mode" if mode == "inference" else "with grad mode enabled"
        text = f"A view was created in {mode} mode and {what} modified inplace {where}."
    else:
        text = f"Output {nr} of {node.name().partition('Backward')[0]} is a view and {what} modified inplace."
    if vw.creation == "multi":
        return (text + " This view is the output of a function that returns multiple views. Such functions do not allow the output "
                "views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
    if vw.creation == "custom":
        return (text + " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. "
                "This behavior is forbidden. You can fix this by cloning the output of the custom Function.")
    return (text + " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            f"the view and the inplace either both inside the {mode}{'_mode' if mode == 'inference' else ''} block (if you don't want the "
            "inplace to be tracked) or both outside (if you want the inplace to be tracked).")


def apply_inplace(op, tensors, layout, nums=(), kinds="", target=0, overlap=None):
    """An in-place operator: the result is written into `tensors[target]`, which is returned. `overlap`: see `refuse_overlap`."""
    t = tensors[target]
    if t._view is not None:
        check_inplace(t, needs_grad(t) or any([edge(x) is not None for x in tensors]))
    edges = tuple([edge(x) for x in tensors])
    wants = any([e is not None for e in edges])
    if wants and t._view is None:
        check_inplace(t, wants)
    vals = [read(x) for x in tensors]
    if t._view is not None or len(tensors) > 1:
        refuse_overlap(t, tensors, overlap)
    result, inst = record(context, op, layout, vals, nums, kinds)
    node = None
    if context.grad and wants:
        needs = 0
        for i, e in enumerate(edges):
            if e is not None:
                needs |= 1 << i
        # what it saves of its target is the value before the write, which the write does not spoil
        node = make_node(inst, needs, edges, vals, [None if i == target else x for i, x in enumerate(tensors)], (result,), nums)
    write(t, result)
    if node is not None:
        if 0 in node.plan.outs:
            guard_output(node, 0, t._st, t._view.steps if t._view is not None else ())
        rebase(t, node)
    elif context.grad is True and edges[target] is not None and not inst.diff_outs:
        rebase(t, None)
    return t


def inplace_number(op, t, x, layout, kind):
    """apply_inplace with one Python number."""
    return apply_inplace(op, (t,), layout, (wrapped(x) if kind == "i" else x,), kind)


_after_write = None


def watch_slices(seen):
    """From now on `seen(cs)` gives the edge that a base gets in the place of the CopySlices `cs`."""
    global _after_write
    _after_write = seen


def rebase(t, node):
    """After an in-place write: `t`'s history is `node`; a view writes it into its base's (torch's CopySlices)."""
    vw = t._view
    if node.__class__ is ForwardOnly and t._edge is not None and not forward_only(t._edge):
        raise NotImplementedError("torchshim: a write of a dual tensor, under no_grad, into a tensor that has a history")
    log_edge(t)
    if vw is None or vw.base is None:
        if t._extra is not None and t._extra.retains:
            move_retained(t, t._edge, node)
        t._edge = node
        t._st.writer = None if node is None else type(node).__name__
        return
    base, steps = vw.base, vw.steps[vw.skip:]
    log_edge(base)
    cs = object.__new__(CopySlices)
    cs.inst = cs.plan = cs.extra = None
    cs.fn, cs.steps, cs.meta = node, steps, meta(base)
    cs.next = (edge(base),) + (tuple(node.next[1:]) if node is not None else ())
    cs.saved, cs.guard, cs.nums, cs.seq = (), (), (), next(sequence)
    if base._extra is not None and base._extra.retains:
        move_retained(base, base._edge, cs)
    base._edge = cs if _after_write is None else _after_write(cs)
    t._st.writer = "torch::autograd::CopySlices"
    if t._extra is not None and t._extra.retains:
        edge(t)                                # its gradient is kept where its history is read anew


class CopySlices(Node):
    """The history of a base after a write through a view: its gradient flows to the old base where nothing was
    written, and through the write's own node (`fn`) where it was."""
    __slots__ = ("fn", "steps", "meta")

    @property
    def n_outputs(self):
        return 1

    def out_meta(self, nr):
        return self.meta

    def release(self):
        self.saved = self.fn = None            # whatever it saved; what leads to the write's own node may still go through that


def refuse_overlap(t, tensors=(), mode=None):
    """torch's refusals of writes to memory where elements coincide: among themselves, or with an operand's. `mode` None is
    for elementwise operators, which may read what they write; "fill" does not mind coinciding elements; "indexed" may share
    nothing with its operands; "put" is both of these."""
    m = meta(t)
    if mode in (None, "indexed") and not m.contiguous and m.numel > 1 and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.")
    if mode == "fill":
        return                                 # the value is read before
    strict, itself = mode in ("indexed", "put"), False
    for x in tensors:
        if x._st is t._st:
            if x is t and not itself:
                itself = True                  # the target among its own operands
            elif _overlaps_in_part(t, m, x, meta(x), strict):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")


def _overlaps_in_part(t, m, x, mx, strict):
    if not m.numel or not mx.numel or not m.dense or not mx.dense:
        return False
    a = t._view.offset * m.dtype.itemsize if t._view is not None else 0
    b = x._view.offset * mx.dtype.itemsize if x._view is not None else 0
    a_end, b_end = a + m.numel * m.dtype.itemsize, b + mx.numel * mx.dtype.itemsize
    if (a, a_end) == (b, b_end):
        return strict or m.strides != mx.strides
    return a < b_end and b < a_end
