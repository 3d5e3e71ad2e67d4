"""copy, deepcopy and exchange of tensors."""
from __future__ import annotations

import copyreg
from weakref import getweakrefs

from ...engine import present
from . import storage
from .graph import meet_inference
from .handle import TensorBase
from .overriding import of_class
from .view import detached

_EMPTY = object()          # a slot that was never set


def deepcopy(t, memo):
    """A tensor of its own; aliases inside one deepcopy stay aliases. As torch sets its memory, it counts one write, each alias for itself."""
    if id(t) in memo:
        return memo[id(t)]
    if not t.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                           "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                           "see https://github.com/pytorch/pytorch/pull/103001")
    import copy
    _makes_its_like(t)
    key = ("torchshim storage", id(t._ts_st))
    st = memo.get(key)
    first = st is None
    if first:
        st = memo[key] = storage.new_storage(present(t._ts_st.value))
        st.version += 1
        memo[("torchshim keep", id(t._ts_st))] = t._ts_st
    if st.version != st.version and t._ts_edge is not None:
        meet_inference()
    y = object.__new__(type(t))
    y._ts_st, y._ts_edge, y._ts_extra, y._ts_view = st, t._ts_edge, None, None
    if not first:
        y._ts_more().version = [1]
    if t._ts_view is not None:
        vw, old = storage.View.__new__(storage.View), t._ts_view
        vw.steps, vw.skip, vw.base, vw.offset, vw.meta = old.steps, 0, None, old.offset, old.meta
        vw.ref, vw.gen, vw.seen, vw.creation = None, -1, 0, None
        y._ts_view = vw
        y._ts_edge = True if t.requires_grad else None
    memo[id(t)] = y
    if t._ts_extra is not None and t._ts_extra.grad is not None:
        y._ts_more().grad = copy.deepcopy(t._ts_extra.grad, memo)
    y.__dict__.update(copy.deepcopy(t.__dict__, memo))
    return y


def _makes_its_like(t):
    """torch makes the copy of a subclass by its `new_empty`, which for one that does not say more gives a plain tensor."""
    from .tensor import Tensor
    cls = type(t)
    if cls is Tensor or cls.__module__.startswith("torchshim") or cls.__deepcopy__ is not Tensor.__deepcopy__:
        return
    made = Tensor if cls.new_empty is Tensor.new_empty else type(t.new_empty([]))
    if made is not cls:
        raise RuntimeError("The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that "
                           "implement new_empty() and for which that function returns another instance of the same subclass. You should "
                           "either properly implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior "
                           "for new_empty() to return an instance of a different type.")


def shallow(t):
    """A new leaf on the same memory, without a gradient; as torch makes it anew, it counts for itself: its memory was set once, a marked
    one's is its data."""
    y = detached(t)
    y._ts_edge = True if t.requires_grad else None
    y._ts_more().version = [int(not hasattr(type(t), "_ts_mark"))]
    cls = type(t)
    y = of_class(y, cls)
    if cls.__basicsize__ != TensorBase.__basicsize__:
        for name in [n for c in cls.__mro__[:cls.__mro__.index(TensorBase)] for n in getattr(c, "__slots__", ()) if hasattr(t, n)]:
            setattr(y, name, getattr(t, name))
    y.__dict__.update(t.__dict__)
    return y


def swap(t1, t2):
    """Exchange what two tensor objects are: class, attributes, memory, history. See torch.utils.swap_tensors.

    Raises RuntimeError where somebody holds a weak reference to one of them, or their classes have different slots.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [set(copyreg._slotnames(type(t))) for t in (t1, t2)]
    if slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in slots[0]:
        a, b = getattr(t1, name, _EMPTY), getattr(t2, name, _EMPTY)
        for t, value in ((t1, b), (t2, a)):
            if value is not _EMPTY:
                setattr(t, name, value)
            elif hasattr(t, name):
                delattr(t, name)
