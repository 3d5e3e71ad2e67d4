"""The autograd graph as operators leave it: one `Node` for each call that needs a gradient.

An edge has four shapes, so that most calls make no object for it: None (no gradient), a leaf Tensor, a Node (its only output), or
(Node, output number). A leaf's AccumulateGrad exists only when somebody asks for it; then an edge may lead to that, and means the leaf.
"""
from __future__ import annotations

import gc
import itertools
import sys
import threading
import weakref
from collections import OrderedDict

from ...engine import VjpOp, context, meta_of
from ...ops import promotion as P
from ...ops.registry import Op, T
from .inference import INFERENCE, saved_below, unversioned

sequence = itertools.count()
_classes: dict = {}


_OWN_KINDS = ("AccumulateGrad", "CopyBackwards", "CopySlices", "Error", "NotImplemented")


def _look(node):
    """Called before somebody walks on from a node, or puts a hook on it."""


def look(node):
    """Somebody walks on from a node, puts a hook on it, or asks what it saved."""
    _look(node)


def before_looks(change):
    """Let `change(node)` make of a node what it is for those who look."""
    global _look
    _look = change


RELEASED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
            "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
            "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
            "after calling backward.")


# torch makes tensors of the numbers of these
_WRAPPING = frozenset(("add", "sub", "mul", "div", "true_divide", "floor_divide", "where", "fill.Item", "index_put.number",
                       "index_put.mask_number"))


# and in the kernels of these
_WRAPPING_BELOW = frozenset(("rsub", "remainder", "fmod", "float_power", "copysign", "xlogy"))


def wraps_numbers(op):
    """Whether torch makes tensors of the numbers that an operator is given."""
    op = getattr(op, "op", op)                 # of an operator in place it is the one it is made of
    return op.name in _WRAPPING or getattr(op, "full_name", None) in _WRAPPING


def wraps_one(op, layout, below=()):
    """Whether torch makes a tensor of a number of this call; `below`: operators that count beside those of which users notice."""
    op = getattr(op, "op", op)
    return (wraps_numbers(op) or op.name in below) and any([p.kind == "tensor" and x is not T and x is not None and x.__class__ is not tuple
                                                            or p.name == "value" for p, x in zip(op.params, layout)])


# those of lists of tensors keep numbers as numbers
UNWRAPPED = frozenset(("AddBackward1", "SubBackward1", "MulBackward1", "DivBackward1"))
# the operands of these that are not given have edges that lead nowhere
_WITH_ABSENT = frozenset(("ClampBackward0", "ConvolutionBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0",
                          "NativeLayerNormBackward0"))
_PLACES = frozenset(("index", "indices", "mask", "places", "condition"))                      # what says where has no edge


class Node:
    """How one call is differentiated: its Plan, the Values it saved and the edges to its inputs.

    `_ts_saved` are the plan's residuals, None once released. `_ts_guard` tells of each residual that a tensor holds where it
    lies: (place in `_ts_saved`, storage, version, generation, view steps, offset, about), for the check that it was not written since.
    `about`, or None, is of an operand that is a view its View.creation, or a weak reference to its base; of an output that was written
    through a view, one to the view's edge.
    """
    __slots__ = ("_ts_inst", "_ts_plan", "_ts_saved", "_ts_guard", "_ts_next", "_ts_nums", "_ts_seq", "_ts_extra", "__weakref__")
    _ts_custom_backward = None
    _ts_pack = None            # where hooks pack what is saved: what packs an output once it is a tensor
    _ts_home = "builtins"      # the module that torch's classes of this kind name
    _ts_turn = None            # when a backward pass comes here, where its number does not say: smaller ones are first

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self):
        """What torch calls the node: its class, and for its own kinds where they live."""
        name = type(self).__name__
        return "torch::autograd::" + name if name in _OWN_KINDS else name

    @property
    def _ts_n_outputs(self):
        return len(self._ts_inst.out_metas)

    def _ts_out_meta(self, nr):
        return self._ts_inst.out_metas[nr]

    def _ts_keeps(self):
        """Whether it saved something: a node that did not may be walked again, as in torch. The number of x * 2 counts as saved."""
        return bool(self._ts_saved or self._ts_nums and self._ts_inst.op.saves_number)

    def _ts_release(self):
        if self._ts_saved or self._ts_nums and self._ts_inst.op.saves_number:
            self._ts_saved = None
            self._ts_guard = ()

    @property
    def next_functions(self):
        """(node, output number) for each place of the operands; (None, 0) where no gradient goes."""
        _look(self)
        # a leaf's AccumulateGrad that somebody saw lives as long as this node, as in torch: hooks may be put on it
        self._ts_next = tuple([e if e is None or e.__class__ is tuple or isinstance(e, Node) or leads_nowhere(e) else accumulator(e)
                           for e in self._ts_next])
        return tuple([e if e.__class__ is tuple else (e if isinstance(e, Node) else None, 0) for e in self._ts_places(self._ts_next)])

    def _ts_places(self, per_edge):
        """What there is for each of `_ts_next`, in the places that torch counts: a number where a tensor could be has one too (None)."""
        inst, name = self._ts_inst, type(self).__name__
        if name == "NotImplemented":           # torch's fallback knows only what wants a gradient
            there = [x for x, e in zip(per_edge, self._ts_next) if e is not None]
            given = [e for e in self._ts_next[:len(inst.op.plan_of.args + inst.op.plan_of.outs)] if e is not None] if (
                inst is not None and inst.op.__class__ is VjpOp) else ()
            return there[len(given):] + there[:len(given)]         # cotangents come first
        if name == "CopyBackwards" and inst is not None and inst.op.name in ("clone", "to"):       # what torch copies into an empty tensor
            return [None, *per_edge]
        params = getattr(inst and inst.op, "params", None)
        if params is None or len(params) != len(inst.layout):
            return per_edge
        op = getattr(inst.op, "op", inst.op)                           # of an operator in place it is the one it is made of
        left, out = iter(per_edge), []
        numbers = wraps_numbers(op) and name not in UNWRAPPED
        absent = [None] if name in _WITH_ABSENT else []
        for p, x in zip(params, inst.layout):
            if p.kind == "tensor":
                if x.__class__ is tuple:
                    made = [next(left, None) for y in x if y is not None]
                else:
                    made = [next(left, None)] if x is T else absent if x is None else [None] if numbers else []
                if p.name not in _PLACES:
                    out += made
            elif numbers and p.name == "value":
                out.append(None)
        order = op.edges
        return [out[k] for k in order] if order is not None and max(order) < len(out) else out

    @property
    def metadata(self):
        return self._ts_more().metadata

    def _ts_more(self):
        if self._ts_extra is None:
            self._ts_extra = NodeExtra()
        return self._ts_extra

    def register_hook(self, hook):
        """`hook(grad_inputs, grad_outputs)` runs after this node's backward; returns a removable handle."""
        _look(self)
        return add_hook(self._ts_more(), "post", hook)

    def register_prehook(self, hook):
        """`hook(grad_outputs)` runs before this node's backward; returns a removable handle."""
        return add_hook(self._ts_more(), "pre", hook)

    def _sequence_nr(self):
        return self._ts_seq if self._ts_turn is None else 2 ** 64 - 1


class NodeExtra:
    """What few nodes have: hooks, retained tensors, metadata."""
    __slots__ = ("pre", "post", "tensor_hooks", "retain", "metadata", "name", "tangents")

    def __init__(self):
        self.pre = self.post = self.tensor_hooks = self.retain = self.name = self.tangents = None
        self.metadata = {}


class RemovableHandle:
    """Removes the hook it was returned for, and what `extra_dict` (one dictionary, or several) notes about it."""
    __module__ = "torchshim.utils.hooks"
    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict = hooks_dict
        self.extra_dicts = () if extra_dict is None else tuple(extra_dict) if isinstance(extra_dict, (list, tuple)) else (extra_dict,)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    @property
    def hooks_dict_ref(self):
        """What leads to the dictionary of the hooks; it is always there."""
        return lambda: self.hooks_dict

    @property
    def extra_dict_ref(self):
        return tuple([lambda d=d: d for d in self.extra_dicts])

    def remove(self):
        for d in (self.hooks_dict, *self.extra_dicts):
            d.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(owner, slot, hook):
    if getattr(owner, slot) is None:
        setattr(owner, slot, OrderedDict())
    hooks = getattr(owner, slot)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def node_class(name, base=Node):
    """The class whose name torch prints: AddBackward0."""
    key = (name, base)
    cls = _classes.get(key)
    if cls is None:
        own = {"__slots__": (), "__module__": base._ts_home}
        if name == "NotImplemented":           # as leaves: whichever was ready first
            own["_ts_turn"] = -2 ** 62
        cls = _classes.setdefault(key, type(name, (base,), own))
    return cls


class Nowhere(Node):
    """Of a call whose gradients torch leaves undefined."""
    __slots__ = ()

    def _ts_custom_backward(self, box, mode):
        if self._ts_saved is None:
            raise RuntimeError(RELEASED)
        refused = self._ts_inst.op.back_refuses and self._ts_inst.op.back_refuses(self._ts_inst, self._ts_plan.needs)
        if refused:
            raise RuntimeError(refused)
        return [None] * len(self._ts_next)


class AccumulateGrad(Node):
    """The end of an edge at a leaf, made when somebody asks for it."""
    __module__ = Node._ts_home
    __slots__ = ("variable", "known")          # known: what it was made for, where the variable got another shape since
    _ts_turn = -2 ** 62

    def __init__(self, variable):
        self.variable, self.known = variable, None
        self._ts_inst = self._ts_plan = self._ts_nums = self._ts_extra = None
        self._ts_saved = self._ts_guard = self._ts_next = ()
        self._ts_seq = 2 ** 63 - 1

    def __del__(self):
        """Nobody holds it any more, but what was computed from its leaf leads there: as in torch, its hooks live as long as that."""
        hooks = self._ts_extra
        if hooks is None or not (hooks.pre or hooks.post) or sys.is_finalizing():
            return
        nodes = _nodes_at(self.variable)
        if nodes:
            node = AccumulateGrad(self.variable)
            node.known, node._ts_extra = self.known, hooks
            self.variable._ts_more().accumulator = weakref.ref(node)
            for n in nodes:
                n._ts_next = tuple([node if e is self.variable else e for e in n._ts_next])

    @property
    def _ts_n_outputs(self):
        return 1

    def _ts_out_meta(self, nr):
        return self.known or self.variable._ts_meta


def leads_nowhere(leaf):
    """Whether a leaf is a view without history: made without grad mode, or before its base required grad. torch lets it require grad
    when its base does, with an edge to nothing. Here the edge leads to the view itself, and no gradient arrives. So with what served a
    derivative that is done."""
    return leaf._ts_edge is None and (leaf._ts_view is not None and leaf._ts_view.base is not None or "_done" in leaf.__dict__)


sparse = False             # whether gradients may be tensors: sparse ones, or operands themselves
loose_shapes = False


def loosen_shapes():
    """A tensor gets another shape than its history knows (`.data =`, a turn in place under no_grad): backward passes compare shapes from
    now on."""
    global loose_shapes
    loose_shapes = True


inference_leaves = False


def meet_inference():
    """A tensor made in inference mode requires grad: from now on calls of such tensors alone are looked for, which have no history."""
    global inference_leaves
    inference_leaves = True


class ForwardOnly(Node):
    """The history of a tensor that has a tangent (autograd/forward_ad.py) and no gradient."""
    __slots__ = ()


def forward_only(e):
    """Whether an edge leads to a tangent alone."""
    return e.__class__ is ForwardOnly or e.__class__ is tuple and e[0].__class__ is ForwardOnly


def forward_node():
    """A node for tangents alone."""
    node = object.__new__(ForwardOnly)
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved = node._ts_guard = node._ts_nums = node._ts_next = ()
    node._ts_seq = next(sequence)
    return node


def leaf_with_tangent(t):
    """The edge of a tensor with a tangent alone that is to be a leaf: its AccumulateGrad, which carries that tangent."""
    node = AccumulateGrad(t)
    t._ts_more().accumulator = weakref.ref(node)
    return _with_tangent_of(t, node)


def tangent_alone(t):
    """The edge of such a leaf that is to be none any more."""
    return _with_tangent_of(t, forward_node())


def _with_tangent_of(t, made):
    node, nr = t._ts_edge if t._ts_edge.__class__ is tuple else (t._ts_edge, 0)
    known = node._ts_extra and node._ts_extra.tangents
    if known:
        known[0].put(made, {0: known[1].get(nr)})
    return made


_making = threading.RLock()    # re-entrant: a finalizer may ask for one while another is being made


def accumulator(leaf):
    """The AccumulateGrad of a leaf: the same object while somebody holds it."""
    x = leaf._ts_more()
    with _making:
        node = x.accumulator() if x.accumulator is not None else None
        if node is None:
            node = AccumulateGrad(leaf)
            x.accumulator = weakref.ref(node)
    return node


def keep_shape(leaf):
    """Before a leaf gets another shape: its AccumulateGrad knows the present one as long as a node leads there, in torch. It is made here
    if any does, who are asked of the garbage collector."""
    x, nodes = leaf._ts_extra, _nodes_at(leaf)
    made = x.accumulator() if x is not None and x.accumulator is not None else None
    if made is None and nodes:
        made = accumulator(leaf)
    if made is not None and made.known is None:
        made.known = leaf._ts_meta
        for n in nodes:
            n._ts_next = tuple([made if e is leaf else e for e in n._ts_next])


def _nodes_at(leaf):
    """The nodes that lead to a leaf."""
    ends = [e for e in gc.get_referrers(leaf) if e.__class__ is tuple]
    return [n for e in ends for n in gc.get_referrers(e) if isinstance(n, Node) and n._ts_next is e]


def lead_nowhere(leaf):
    """Before a view without history gets a gradient of its own: what was computed from it goes on leading nowhere."""
    for n in _nodes_at(leaf):
        n._ts_next = tuple([None if e is leaf else e for e in n._ts_next])


def begin_anew(leaf):
    """Before a leaf gets other memory by `set_`: torch makes it a new AccumulateGrad. What was computed from it leads to the old one, which
    goes on adding to the same `grad`, and is no edge of the leaf's any more."""
    x, nodes = leaf._ts_more(), _nodes_at(leaf)
    old = x.accumulator() if x.accumulator is not None else None
    if old is None and not nodes:
        return
    old = old or AccumulateGrad(leaf)
    before = object.__new__(type(leaf))
    before._ts_st, before._ts_view, before._ts_edge, before._ts_extra = leaf._ts_st, leaf._ts_view, True, x
    old.variable, x.accumulator = before, None
    for n in nodes:
        n._ts_next = tuple([old if e is leaf else e for e in n._ts_next])


def kept_shape(leaf):
    """The shape that a leaf's AccumulateGrad knows where it is not the leaf's own; None elsewhere."""
    x = leaf._ts_extra
    made = x.accumulator() if x is not None and x.accumulator is not None else None
    return None if made is None or made.known is None else made.known.shape


def accumulator_hooks(extra):
    """The hooks on the AccumulateGrad of a leaf with this `extra`: a NodeExtra, or None."""
    node = extra.accumulator() if extra.accumulator is not None else None
    return None if node is None else node._ts_extra


def make_node(inst, needs, edges, vals, tensors, outs, nums, new=object.__new__):
    """The Node of a call whose inputs in the mask `needs` want a gradient; None if none can have one."""
    global sparse
    if (inference_leaves and tensors and all([unversioned(t) for t in tensors]) and not any([forward_only(e) for e in edges])
            and not (nums and wraps_one(inst.op, inst.layout, _WRAPPING_BELOW))):
        by_out = getattr(inst.op, "by_out", None)
        name = by_out(inst) if callable(by_out) else by_out
        if name:
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")
        if inst.op.name not in ("clone", "to"):
            return None
        node = _plain_node(inst, needs, edges, vals, (None,), outs, nums)       # written into new memory, which is followed
        if node is not None:
            node.__class__ = node_class("CopyBackwards")
        return node
    plan = inst.plans.get(needs)
    if plan is None:
        mask = 0
        for i in inst.diff_ins:
            mask |= needs & (1 << i)
        if not mask or not inst.diff_outs:
            if mask and inst.op.__class__ is Op and inst.op.out == "dtype":        # a sum or product asked to be of integers
                raise RuntimeError(f"Autograd not support dtype: {P.c_name(inst.out.dtype)}")
            return None
        if mask != needs:
            edges = tuple([e if mask >> i & 1 else None for i, e in enumerate(edges)])
            needs = mask
        if inst.op.grad_for:                   # it may refuse what cannot be traced
            inst.op.grad_for(inst, tuple([i for i in inst.diff_ins if needs >> i & 1]))
        plan = inst.plan(needs)
    cls = plan.node_class
    if cls is None:
        name = inst.op.grad_for and inst.op.grad_for(inst, plan.needs)
        nowhere = inst.op.nowhere and inst.op.nowhere(*inst.layout)
        seen = getattr(inst.op, "seen", None)
        copied, plan.bare = getattr(inst.op, "copied", None), getattr(inst.op, "bare", ())
        plan.copied = (*[i for i, shape in seen(inst).items() if shape is None],) if seen else ()
        plan.copied += copied(inst, plan.needs) if copied else ()
        if callable(inst.op.twice) and inst.op.twice(inst) == "operand":
            sparse = True
        cls = plan.node_class = node_class(name or inst.grad_fn_name, Nowhere if nowhere else Node)
    node = new(cls)
    node._ts_inst = inst
    node._ts_plan = plan
    node._ts_next = edges
    node._ts_extra = None
    args = plan.args
    if args:
        saved, guard = [], []
        if plan.copied:                        # these may be written, or have no versions
            tensors = [None if i in plan.copied else t for i, t in enumerate(tensors)]
        if plan.bare:
            tensors = [t._ts_bare() if t is not None and i in plan.bare else t for i, t in enumerate(tensors)]
        for i in args:
            t = tensors[i]
            if t is not None:
                st, vw, x = t._ts_st, t._ts_view, t._ts_extra
                version = st.version
                if vw is None and version == version and (x is None or x.version is None):
                    guard.append((len(saved), st, version, st.gen, (), 0, None))
                    saved.append(vals[i])
                    continue
                if version != version and (unversioned(t) or "transform" in context.modes and saved_below(inst, needs, edges, i)):
                    # NaN: made in inference mode
                    if all([x is not None and unversioned(x) for x in tensors]) and not (
                            nums and wraps_one(inst.op, inst.layout, _WRAPPING_BELOW)):
                        return None            # torch has no gradients of what is made of such tensors alone
                    raise RuntimeError(INFERENCE)
                if x is not None and x.version is not None:
                    born, st = version, OwnVersion(st, x.version)
                    version = st.version
                    if version != version and born == born:            # NaN, with the memory of another: `.data =`
                        raise RuntimeError("Inference tensors do not track version counter.")
                guard.append((len(saved), st, version, st.gen, (), 0, None) if vw is None else
                             (len(saved), st, version, st.gen, vw.steps, vw.offset,
                              vw.creation or (None if vw.base is None else weakref.ref(vw.base))))
            saved.append(vals[i])
    else:
        saved, guard = [], []
    if plan.outs:
        saved += [outs[k] for k in plan.outs] if len(outs) > 1 else outs
    node._ts_saved = saved
    node._ts_guard = guard
    node._ts_nums = [nums[i] for i in plan.nums] if plan.nums else ()
    node._ts_seq = next(sequence)
    v = outs[0]
    tr = None if v is None else v.trace        # where it was recorded: sooner found than the thread's trace
    (context.trace if tr is None or tr.state is None else tr).graph = True
    return node


pack_refused = None        # (Plan, Instance, operands): the hooks' turn on what would have been saved, while there are any


def refuse_to_save(op, layout, metas, kinds, tensors, edges):
    """After an operator refused its operands: torch notes what it saves before it looks at shapes, refuses inference tensors there, and asks
    hooks.
    What would have been saved is asked of operands that fit: of one element, with their own dimensions, or with three, two or one, or
    a matrix and vectors, and with their own dtypes or with one that has a gradient."""
    mixed = {unversioned(t) for t in tensors} == {True, False}
    if op.composed or not mixed and pack_refused is None:
        return                                 # of such tensors alone there are no gradients: nothing is saved
    followed = [m.dtype for m, e in zip(metas, edges) if e is not None]
    own = [m.ndim for m in metas]
    for ndims, d in [(n, d) for d in (None, *followed[:1]) for n in (own, (3, 3), (2, 2), (1, 1), (2, 1))]:
        ndims = (*ndims, *ndims[-1:] * (len(metas) - len(ndims)))
        try:
            inst = op.resolve(layout, tuple([meta_of((1,) * n, d or m.dtype, m.device) for n, m in zip(ndims, metas)]), kinds)
        except Exception:
            continue
        needs = 0
        for i in inst.diff_ins:
            if edges[i] is not None:
                needs |= 1 << i
        if needs and inst.diff_outs:
            if mixed and any([unversioned(tensors[i]) for i in inst.plan(needs).args]):
                raise RuntimeError(INFERENCE) from None
            if pack_refused is not None:
                pack_refused(inst.plan(needs), inst, tensors)
        return


_plain_node, _around = make_node, {}


def around_nodes(key, wrapper):
    """Let `wrapper(make_node)` make the nodes of all threads' calls, where somebody wants to see them; None ends it. This
    replaces the function that the calls look up here: without a wrapper nodes are made as if there were no such thing."""
    global make_node
    _around.pop(key, None)
    if wrapper is not None:
        _around[key] = wrapper
    make_node = _plain_node
    for w in _around.values():
        make_node = w(make_node)


class OwnVersion:
    """A storage as a tensor sees it that counts versions of its own, as `.data` gives."""
    __slots__ = ("st", "count")

    def __init__(self, st, count):
        self.st, self.count = st, count

    value = property(lambda self: self.st.value)
    # a count that other memory shares changes by writes there, too
    gen = property(lambda self: self.st.gen if self.count.__class__ is list else self.st.gen + self.count[0])
    version = property(lambda self: self.count[0])
    writer = property(lambda self: self.st.writer)
    rewritten = property(lambda self: self.st.rewritten)
    moved = property(lambda self: self.st.moved)


def guard_output(node, k, st, t, steps=(), offset=0, later=0):
    """Note that output `k`, which the backward reads, the tensor `t`, lies in storage `st`; `later`: so many of its generations from now."""
    plan = node._ts_plan
    if node._ts_pack is not None:
        if not later:
            node._ts_pack(k, t)
        return
    node._ts_guard.append((len(plan.args) + plan.outs.index(k), st, st.version, st.gen + later, steps, offset, None))


def guard_view(node, e):
    """Note that the output that was noted last was written through a view, which has the edge `e` now: what tells of it asks whether that
    is still there."""
    if e.__class__ is not tuple and isinstance(e, Node):
        node._ts_guard[-1] = (*node._ts_guard[-1][:6], weakref.ref(e))
