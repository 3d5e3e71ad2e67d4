"""What nodes saved, piece by piece, as `grad_fn._raw_saved_self` shows it: each piece may get a pair of hooks of its own."""
from __future__ import annotations

from types import SimpleNamespace

from ..tensor.core.graph import RELEASED, Node, node_class
from .graph import HookedNode, Packed
from .saved import names_at_most, residuals, saved_names, saved_tensors

_FREED = ("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when you "
          "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
          "you need to access saved tensors after calling backward.")
_TWICE = ("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time.")
_ARGUMENTS = ("register_hooks(): incompatible function arguments. The following argument types are supported:\n    1. (self: "
              "torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n")


class SavedTensor:
    """What a node keeps at place `k`; None: what it would keep there is None."""
    __module__ = "torchshim._C._autograd"
    __slots__ = ("_node", "_k")

    def __init__(self, *place):
        if not place:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node, self._k = place

    @property
    def data(self):
        """What is kept: a tensor without history, or what a pack hook made of it."""
        kept = _kept(self._node, self._k)
        return kept.object if isinstance(kept, Packed) else None if kept is None else kept.detach()

    def unpack(self):
        """The tensor, with its history."""
        kept = _kept(self._node, self._k)
        return kept.unpack() if isinstance(kept, Packed) else kept

    def register_hooks(self, *hooks):
        """`pack_hook(tensor)` is called at once, and what it gives kept in the tensor's place; `unpack_hook` makes a tensor of that when
        backward asks for it. RuntimeError where there are hooks already, for None, and for what was freed."""
        if len(hooks) != 2 or not all([callable(h) for h in hooks]):
            raise TypeError(_ARGUMENTS)
        if self._k is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        node = self._node
        if node._ts_saved is None:
            raise RuntimeError(_FREED)
        kept = _kept(node, self._k)
        if isinstance(kept, Packed):
            raise RuntimeError(_TWICE)
        if kept is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        packed = Packed(kept if kept.is_leaf else kept.detach(), SimpleNamespace(pack_hook=hooks[0], unpack_hook=hooks[1]))
        node._ts_more()                        # backward passes with such nodes are not replayed
        if hasattr(node, "_ts_forward_cls"):
            from .function import kept_packed
            node._ts_saved[self._k] = kept_packed(node, self._k, packed)
            return
        if not isinstance(node, HookedNode):
            _prepare(node)
        before = node._ts_saved[self._k].before
        before._ts_guard = [g for g in before._ts_guard if g[0] != self._k]    # it may be written from now on
        node._ts_saved[self._k] = packed


class _Plain:
    """A place of a node some other place of which has hooks: it is read as it was in the node `before`."""
    __slots__ = ("before", "k")

    def __init__(self, before, k):
        self.before, self.k = before, k

    def unpack(self):
        before = self.before
        return saved_tensors(before, residuals(before, self.k) if before._ts_guard else list(before._ts_saved))[self.k]


def _prepare(node):
    """Let a node read what it saved through hooks, place by place."""
    before = object.__new__(type(node))
    for slot in Node.__slots__[:-1]:
        setattr(before, slot, getattr(node, slot))
    before._ts_extra = None
    node._ts_saved, node._ts_guard = [_Plain(before, k) for k in range(len(node._ts_saved))], []
    node.__class__ = node_class(type(node).__name__, HookedNode)


def _kept(node, k):
    """What lies at place `k`: a Packed, or a tensor with its history, or None."""
    if k is None:
        return None
    if node._ts_saved is None:
        raise RuntimeError(RELEASED)
    if hasattr(node, "_ts_forward_cls"):
        _, value, _, _ = node._ts_saved[k]
        return value if isinstance(value, Packed) else node.saved_tensors[k]
    if isinstance(node, HookedNode):
        held = node._ts_saved[k]
        return held if isinstance(held, Packed) else held.unpack()
    return saved_tensors(node, residuals(node, k) if node._ts_guard else list(node._ts_saved))[k]


def raw_saved(node, name):
    """`node._raw_saved_<name>`: a SavedTensor, for a list a tuple of them; AttributeError where torch has none."""
    if hasattr(node, "_ts_forward_cls"):
        if name == "tensors":
            if node._ts_saved is None:
                raise RuntimeError(RELEASED)
            return tuple([SavedTensor(node, None if s[0] is None and s[1] is None else k) for k, s in enumerate(node._ts_saved)])
    elif node._ts_inst is not None and node._ts_plan is not None:
        names = saved_names(node)
        declared = getattr(node._ts_inst.op, "op", node._ts_inst.op)
        for p, x in zip(getattr(declared, "params", ()), node._ts_inst.layout):
            if p.name == name and x.__class__ is tuple and name in names:
                at = iter([k for k, n in enumerate(names) if n == name])
                return tuple([SavedTensor(node, None if y is None else next(at)) for y in x])
        if name in names:
            return SavedTensor(node, names.index(name))
        if name in names_at_most(node):
            return SavedTensor(node, None)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'", name="_raw_saved_" + name, obj=node)
