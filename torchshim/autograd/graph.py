"""torch.autograd.graph: nodes, edges, and hooks on what the graph saves."""
from __future__ import annotations

import contextlib
import weakref
from typing import Any, NamedTuple

from ..dropin import missing_attribute as _missing_attribute
from ..engine import context, meta_of
from ..ops import promotion as P
from ..ops.index import MASKED_SELECT
from ..ops.layout import broadcast_shapes
from ..tensor.api.indexing import MASKS
from ..tensor.core.dispatch import wrap
from ..tensor.core import graph
from ..tensor.core.graph import AccumulateGrad, Node, Nowhere, RemovableHandle, accumulator, around_nodes, leads_nowhere, node_class
from ..tensor.core.handle import TensorBase, edge, read
from ..tensor.core.write import bump
from . import picked
from .grad_mode import grad_mode
from .saved import RELEASED, saved_names
from .second_order import part_with

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


class GradientEdge(NamedTuple):
    """A node and the number of its output that a gradient is asked of."""
    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor):
    """The edge of a tensor, which `torch.autograd.grad` takes in the tensor's place."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    e = _leading(tensor)
    if e is tensor:
        return GradientEdge(accumulator(tensor), 0)
    node, nr = e if e.__class__ is tuple else (e, 0)
    return GradientEdge(node, nr)


def _leading(tensor):
    """The edge of a tensor, which has to lead somewhere."""
    e = edge(tensor) if tensor.requires_grad else None
    if e is None or e is tensor and leads_nowhere(tensor):
        raise AssertionError("Expected gradient function to be set")
    return e


def increment_version(tensor):
    """Count a write that the library could not see."""
    for t in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        bump(t)


# -- hooks on saved tensors --------------------------------------------------------------------------------------------------
class Packed:
    """What a pack hook made of a saved tensor, with the hook that turns it back."""
    __slots__ = ("object", "hooks")

    def __init__(self, t, hooks):
        self.hooks = hooks
        version = t._version
        with grad_mode(False), without_hooks():
            self.object = hooks.pack_hook(t)
        if t._version != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                               "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                               "need to perform in-place operations on the input to a pack hook.")

    def unpack(self):
        with without_hooks():
            t = self.hooks.unpack_hook(self.object)
        if not isinstance(t, TensorBase):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}")
        return t


class PackedPlaces:
    """Places along dimension `k` where a mask is true: torch saves the mask, which hooks pack once for all its dimensions."""
    __slots__ = ("mask", "k")

    def __init__(self, mask, k):
        self.mask, self.k = mask, k

    def unpack(self):
        return self.mask.unpack().nonzero()[:, self.k]


class Kept:
    """What torch does not save, but finds again: no hook sees it."""
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def unpack(self):
        return wrap(self.value)


class HookedNode(Node):
    """A node that saved what a pack hook returned."""
    __slots__ = ()

    def _ts_pack(self, nr, t):
        """Output `nr` is there: the tensor itself is packed, so whoever unpacks it may find it written, or with other memory."""
        plan = self._ts_plan
        self._ts_saved[len(plan.args) + plan.outs.index(nr)] = Packed(t, active())

    def _ts_custom_backward(self, box, mode):
        if self._ts_saved is None:
            raise RuntimeError(RELEASED)
        plan, inst, masks, given = self._ts_plan, self._ts_inst, {}, {}
        places, saved, differ, others = [*plan.args, *[(k,) for k in plan.outs]], [None] * len(self._ts_saved), False, None
        for k in _order(self):
            packed = self._ts_saved[k]
            if packed.__class__ is PackedPlaces:
                if packed.mask not in masks:
                    masks[packed.mask] = packed.mask.unpack()
                given[places[k]] = masks[packed.mask], packed.k
                differ = True
            else:
                given[places[k]] = t = packed.unpack()
                saved[k] = read(t)
        metas = [inst.in_metas[i] for i in plan.args] + [inst.out_metas[k] for k in plan.outs]
        for i, m, v in zip(plan.args, metas, saved):
            if v is not None and P.kind_of(m.dtype) > 1 >= P.kind_of(v.meta.dtype) and (
                    isinstance(self._ts_next[i], (TensorBase, AccumulateGrad)) or not picked.known(self)):
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        differ = differ or any([v.meta.shape != m.shape or v.meta.dtype != m.dtype for m, v in zip(metas, saved)])
        found = picked.gradients(self, mode, box[plan.cts[0]], given, differ) if plan.cts[0] in box else None
        if found is not None:
            return found
        for k, (m, v) in enumerate(zip(metas, saved)):
            if v is None:
                mask, d = given[places[k]]
                saved[k] = v = read(mask.nonzero()[:, d])
            if v.meta.shape != m.shape:
                broadcast_shapes([m.shape, v.meta.shape])
                others = f"torchshim: an unpack hook that gives a tensor of shape {list(v.meta.shape)} for one of {list(m.shape)}"
                if mode.graph or mode.hooked is not None or not inst.op.elementwise or len(plan.cts) > 1 or v.meta.dtype != m.dtype:
                    raise NotImplementedError(others)
            elif P.kind_of(m.dtype) == 1 != P.kind_of(v.meta.dtype):
                raise NotImplementedError(f"torchshim: an unpack hook that gives a tensor of {P.c_name(v.meta.dtype)} for one of "
                                          f"{P.c_name(m.dtype)}")
        if others is not None and box:
            return _by_broadcasting(self, saved, mode.tensor(box[plan.cts[0]]), mode, others)
        if issubclass(plan.node_class, Nowhere):
            return Nowhere._ts_custom_backward(self, box, mode)
        part, vjp = None if len(box) == len(plan.cts) else part_with(plan, None, tuple([nr for nr in plan.cts if nr in box])), mode.vjp
        cts = [box[nr] if nr in box else mode.zeros(self._ts_inst.out_metas[nr]) for nr in (plan if part is None else part.plan).cts]
        grads = [None] * len(self._ts_next)
        for i, g in zip(plan.needs, vjp(self, saved, cts) if part is None else vjp(self, saved, cts, part)):
            grads[i] = g
        return grads


def _by_broadcasting(node, saved, ct, mode, others):
    """The gradients of an elementwise operator whose saved tensors came back in other shapes: of as many elements as what each of torch's
    formulas reads, summed to the operands' shapes."""
    from .backward import fitted
    plan, inst, grads = node._ts_plan, node._ts_inst, [None] * len(node._ts_next)
    held = [*plan.args, *[(k,) for k in plan.outs]]
    for i in plan.needs:
        own = inst.plan(1 << i)
        given = [wrap(saved[held.index(x)]) for x in (*own.args, *[(k,) for k in own.outs])] + [ct]
        shape = broadcast_shapes([t._ts_meta.shape for t in given])
        metas = tuple([meta_of(shape, m.dtype, m.device) for m in inst.in_metas])
        whole = inst.op.resolve(inst.layout, metas, inst.kinds)
        each = object.__new__(Node)
        each._ts_inst, each._ts_plan, each._ts_extra = whole, whole.plan(1 << i), None
        each._ts_nums = [node._ts_nums[plan.nums.index(k)] for k in each._ts_plan.nums]
        if (each._ts_plan.args, each._ts_plan.outs) != (own.args, own.outs):
            raise NotImplementedError(others)
        *given, g = [mode.back(t.expand(shape).contiguous()) for t in given]
        g, = mode.vjp(each, given, [g])
        grads[i] = mode.back(fitted(node, i, mode.tensor(g), inst.in_metas[i].shape))
    return grads


def active():
    """The hooks that apply to what this thread saves now, or None."""
    stack = context.modes.get("saved tensors hooks")
    return stack[-1] if stack else None


def _order(node):
    """The order in which a node saves, and looks at what it saved: by the alphabet, results last."""
    args, names = len(node._ts_plan.args), saved_names(node)
    return sorted(range(args), key=lambda k: names[k] if names else "") + list(range(args, len(node._ts_saved)))


def _hooked(make_node):
    """make_node, where hooks are active somewhere."""
    return lambda *call: _pack(make_node(*call), *call)


def _pack(node, inst, needs, edges, vals, tensors, outs, nums):
    hooks = active()
    if node is None or hooks is None or not node._ts_saved:
        return node
    args = node._ts_plan.args
    packed, masks = [None] * len(node._ts_saved), {}
    for k in _order(node)[:len(args)]:
        i = args[k]                            # of what is written in place it saves a clone
        if i == 2 and inst.op is MASKED_SELECT:           # the places of the mask
            packed[k] = Kept(vals[i])
            continue
        mask = None if tensors[i] is None else MASKS.get(tensors[i]._ts_st)
        if mask is not None:
            if id(mask[0]) not in masks:
                masks[id(mask[0])] = Packed(mask[0], hooks)
            packed[k] = PackedPlaces(masks[id(mask[0])], mask[1])
            continue
        packed[k] = Packed(wrap(vals[i], edges[i]).clone() if tensors[i] is None else tensors[i], hooks)
    node._ts_saved, node._ts_guard = packed, []
    node._ts_more()                               # backward passes with such nodes are not replayed
    node.__class__ = node_class(type(node).__name__, HookedNode)
    return node


def _pack_refused(plan, inst, tensors):
    """Ask the hooks what to keep of operands that an operator refused, once: some calls are made again for torch's words."""
    global _refused
    hooks, node, same, before = active(), object.__new__(Node), tuple(map(id, tensors)), _refused
    _refused = same, next(graph.sequence)
    if hooks is None or before == (same, _refused[1] - 1):
        return
    node._ts_inst, node._ts_plan, node._ts_saved = inst, plan, plan.args
    for k in _order(node):
        if tensors[plan.args[k]] is not None:
            Packed(tensors[plan.args[k]], hooks)


_refused = None            # the operands that were refused last, and when
_users = 0                 # blocks with hooks, in all threads: without any, nodes are made the plain way


def _count(step):
    global _users
    _users += step
    around_nodes("saved tensors hooks", _hooked if _users else None)
    graph.pack_refused = _pack_refused if _users else None


def without_hooks():
    """A block in which hooks on saved tensors are not asked."""
    return context.mode("saved tensors hooks", None)


class saved_tensors_hooks:
    """A block in which `pack_hook(tensor)` decides what is kept of what the graph saves; `unpack_hook` gives the tensor back
    when backward needs it."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if "saved tensors hooks disabled" in context.modes:
            raise RuntimeError(context.modes["saved tensors hooks disabled"])
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise TypeError("_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are "
                            "supported:\n    1. (arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                            f"Invoked with: {self.pack_hook!r}, {self.unpack_hook!r}")
        context.modes.setdefault("saved tensors hooks", []).append(self)
        _count(1)

    def __exit__(self, *exc):
        stack = context.modes.get("saved tensors hooks")
        if stack:                              # one that was left more often than entered is no error
            stack.pop()
            _count(-1)


class save_on_cpu(saved_tensors_hooks):
    """What the graph saves is kept in host memory until backward."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message, fail_if_non_empty=True):
    """A block in which hooks on saved tensors are refused with this message; so is the block where such hooks are active already, unless
    `fail_if_non_empty` is False."""
    if fail_if_non_empty and active() is not None:
        raise RuntimeError(error_message)
    with context.mode("saved tensors hooks disabled", error_message):
        yield


class _Saved:
    """A saved tensor that may be written: what it held, and where."""
    __slots__ = ("context", "value", "edge", "place", "version", "__weakref__")


class _AllowMutation:
    """What `allow_mutation_on_saved_tensors` gives: the saved tensors that are alive, and those that were written since."""

    def __init__(self):
        self.alive = weakref.WeakSet()

    def pack(self, t):
        s = _Saved()
        s.context, s.value, s.version, s.place = self, read(t), t._ts_st.version, t._ts_st
        s.edge = t.data_ptr(), tuple(t.shape), t.stride()
        self.alive.add(s)
        return s

    def unpack(self, s):
        if context.modes.get("allow mutation") is not self or s.context is not self:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                                 "originally recorded.")
        return wrap(s.value)

    @property
    def tid_to_weakhandle(self):
        return {(s.edge, s.version): s for s in self.alive}

    @property
    def cloned(self):
        return {key: s for key, s in self.tid_to_weakhandle.items() if s.place.version != s.version}

    def clear(self):
        self.alive.clear()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """A block in which tensors that the graph saves may be written in place before backward, which gets what they held then. Values
    are never changed here, so nothing is copied for it."""
    if "allow mutation" in context.modes:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    state = _AllowMutation()
    with saved_tensors_hooks(state.pack, state.unpack), context.mode("allow mutation", state):
        try:
            yield state
        finally:
            state.clear()


# -- hooks on several gradients --------------------------------------------------------------------------------------------
def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Accepted: there are no streams to differ."""


def set_override_stale_capture_stream(enabled):
    """Accepted: nothing is captured on streams."""


class _MultiHandle(RemovableHandle):
    """The handles of one hook on several tensors."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """`fn(gradients)` when the gradients of all `tensors` that a backward pass computes are there (None for the others), or with
    mode="any" `fn(gradient)` at the first. Returns a handle with `remove()`."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        ran = set()

        def first(grad):
            task = context.modes["graph task"][0]
            if task not in ran:
                ran.add(task)
                fn(grad)
        return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])
    edges = [_leading(t) for t in tensors]
    ends = [accumulator(e) if isinstance(e, TensorBase) else e for e in edges]      # as torch's hooks do, these keep what they wait for
    got = {}                                   # by backward pass: gradients so far, how many are still to come

    def hook_of(k):
        def hook(grad):
            task, _, walk = context.modes["graph task"]
            if task not in got:
                got[task] = [None] * len(ends), sum([walk.will_execute(e) for e in ends])
            grads, left = got[task]
            grads[k] = grad
            got[task] = grads, left - 1
            if left == 1:
                del got[task]
                fn(grads)
        hook.together = True
        return hook
    return _MultiHandle([t.register_hook(hook_of(k)) for k, t in enumerate(tensors)])


__getattr__ = _missing_attribute(__name__)
