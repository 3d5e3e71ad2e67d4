"""torch.utils._python_dispatch: modes that see every operator of ATen, and what wraps tensors. See `torchshim/_dispatch`."""
from __future__ import annotations

import contextlib

from .. import Tensor
from .._dispatch.python import begin, state
from ..tensor.core.overriding import dispatches

__all__ = ["TorchDispatchMode", "BaseTorchDispatchMode", "is_traceable_wrapper_subclass", "transform_subclass",
           "return_and_correct_aliasing"]


class TorchDispatchMode:
    """A context in which every operator comes to `__torch_dispatch__(func, types, args, kwargs)` of this object, below autograd.

    While it answers the mode is left, so that it can call `func`, an overload as torch.ops.aten.mm.default. A public function of which it
    is not known which operators torch calls for it raises NotImplementedError, as does the gradient of an operator without a formula.
    """
    supports_higher_order_operators = False
    above_autograd = False                     # whether it sees operators before those made of others are taken apart

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        begin()
        s = state()
        s.stack = [*s.stack, self]
        return self

    def __exit__(self, *exc):
        s = state()
        s.stack = s.stack[:-1]
        return False

    @classmethod
    def push(cls, *args, **kwargs):
        """An instance, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is a part of torch's own machinery: no."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode, or None."""
    stack = state().stack
    return stack[-1] if stack else None


def _get_current_dispatch_mode_stack():
    """The modes, outermost first."""
    return list(state().stack)


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode was entered."""
    return bool(state().stack)


@contextlib.contextmanager
def _disable_current_modes():
    """A context outside of all modes."""
    s = state()
    kept, s.stack = s.stack, []
    try:
        yield kept
    finally:
        s.stack = kept


def is_traceable_wrapper_subclass(t):
    """Whether a tensor sees operators and says, by `__tensor_flatten__` and `__tensor_unflatten__`, which tensors it is made of."""
    return (isinstance(t, Tensor) and type(t) is not Tensor and dispatches(type(t)) and hasattr(t, "__tensor_flatten__")
            and hasattr(t, "__tensor_unflatten__"))


def is_traceable_wrapper_subclass_type(t):
    """The same for a class."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A wrapper like `t` around `callback(name, tensor)` of each tensor that it is made of."""
    names, context = t.__tensor_flatten__()
    made = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(made, context, t.size() if outer_size is None else outer_size,
                                        t.stride() if outer_stride is None else outer_stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a wrapper's `__torch_dispatch__` returns for `out`: an operator in place gives the argument that it wrote to. Wrappers share no
    storages here."""
    known = getattr(func, "_schema", None)
    if known is not None and known.mutated:
        written = known.mutated[0]
        return next((x for a, x in zip(known.arguments, args) if a.name == written), (kwargs or {}).get(written))
    return out
