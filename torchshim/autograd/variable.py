"""Variable, the name that tensors with gradients had once."""
from __future__ import annotations

from ..engine import context, warn
from ..tensor.api.creation import tensor
from ..tensor.api.parameters import name_in_c
from ..tensor.core.tensor import Tensor


class _Engine:
    """The part of torch's engine that programs call."""

    def queue_callback(self, callback):
        """`callback()` when the backward pass that runs in this thread has ended. RuntimeError if none does."""
        task = context.modes.get("graph task")
        if task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        task[2].callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(data, requires_grad=False)` is the same data as a leaf of its own; any tensor is an instance."""
    _execution_engine = _Engine()

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            return tensor([])
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {name_in_c(type(data))}")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return data.detach().requires_grad_(requires_grad)
