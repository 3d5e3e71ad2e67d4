"""copy, deepcopy and pickle of tensors."""
from __future__ import annotations

from ...engine import present
from . import storage
from .dispatch import alias
from .tensor import Tensor


def deepcopy(t, memo):
    """A tensor of its own; aliases inside one deepcopy stay aliases."""
    if id(t) in memo:
        return memo[id(t)]
    if not t.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                           "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                           "see https://github.com/pytorch/pytorch/pull/103001")
    import copy
    key = ("torchshim storage", id(t._st))
    st = memo.get(key)
    if st is None:
        st = memo[key] = storage.new_storage(present(t._st.value))
        memo[("torchshim keep", id(t._st))] = t._st
    y = object.__new__(type(t))
    y._st, y._edge, y._extra, y._view = st, t._edge, None, None
    if t._view is not None:
        vw, old = storage.View.__new__(storage.View), t._view
        vw.steps, vw.skip, vw.base, vw.offset, vw.meta = old.steps, 0, None, old.offset, old.meta
        vw.ref, vw.gen, vw.seen, vw.creation = None, -1, 0, None
        y._view = vw
        y._edge = True if t.requires_grad else None
    memo[id(t)] = y
    if t._extra is not None and t._extra.grad is not None:
        y._more().grad = copy.deepcopy(t._extra.grad, memo)
    y.__dict__.update(copy.deepcopy(t.__dict__, memo))
    return y


def shallow(t):
    """A new tensor object on the same storage."""
    y = alias(t, t.storage_offset())
    y._edge, y._extra, y._view = t._edge, t._extra, t._view
    y.__class__ = type(t)
    y.__dict__.update(t.__dict__)
    return y
