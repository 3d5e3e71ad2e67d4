"""Attributes of tensors that are not for everybody: those that nobody may set, and those that PyTorch keeps to itself but code reads."""
from __future__ import annotations

from .tensor import Tensor


def _no_deletion(message):
    def refuse(self):
        raise RuntimeError(message)
    return refuse


def read_only(cls):
    """Properties without a setter refuse in torch's words."""
    for name, p in list(vars(cls).items()):
        if isinstance(p, property) and p.fset is None:
            refuse = _refusal(name)
            setattr(cls, name, p.setter(refuse).deleter(refuse))


def _refusal(name):
    def refuse(self, value=None):
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")
    return refuse


# torch's private names of two properties: code that asks for them meets torch's refusal to delete them
Tensor._grad_fn = property(lambda self: self.grad_fn, _refusal("_grad_fn"),
                           _no_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"))


def _hooks(self):
    """The hooks by their handles' numbers: a leaf's own, or those of a result at its node."""
    e = self._ts_edge
    if e is None or e is True or e is self:
        return self._ts_extra and self._ts_extra.hooks
    node, nr = e if e.__class__ is tuple else (e, 0)
    return ((node._ts_extra and node._ts_extra.tensor_hooks) or {}).get(nr)


def _set_hooks(self, hooks):
    if hooks is not None or self._ts_extra:
        self._ts_more().hooks = hooks


Tensor._backward_hooks = property(_hooks, _set_hooks, _no_deletion("Deletion of _backwards_hooks not allowed!"))
