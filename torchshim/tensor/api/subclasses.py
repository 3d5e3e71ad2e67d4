"""Subclasses of Tensor: how instances are made, and the `__torch_function__` that they inherit."""
from __future__ import annotations

from ..core.overriding import DisableTorchFunctionSubclass, convert, never_asks, of_class
from ..core.tensor import Tensor
from ..core.view import detached
from .bind import function
from .overloads import type_name
from .views import alias_of

_NO_TENSOR = "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class inherits from Tensor."


@function(torch=False)
def as_subclass(self, cls):
    """The same memory and history as a tensor of `cls`, a subclass of Tensor."""
    if not isinstance(cls, type):
        raise TypeError(f"as_subclass(): argument 'cls' (position 1) must be type, not {type_name(cls)}")
    if not issubclass(cls, Tensor):
        raise TypeError(_NO_TENSOR)
    return of_class(alias_of(self), cls)


def _make_subclass(cls, data, require_grad=False):
    """The memory of `data`, without history, as a leaf of class `cls`."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type_name(data)}")
    if not issubclass(cls, Tensor):
        raise TypeError(_NO_TENSOR)
    t = of_class(detached(data), cls)
    if require_grad:
        t._ts_ask_for_grad()
    return t


def _make_wrapper_subclass(cls, size, *args, **kwargs):
    """A tensor without memory whose class answers all operators: NotImplementedError."""
    if getattr(cls, "__torch_dispatch__", None) is None:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    raise NotImplementedError("torchshim: Tensor._make_wrapper_subclass; operators do not ask __torch_dispatch__. A class with "
                              "__torch_function__ and Tensor._make_subclass keeps its data in the tensor itself")


def _torch_function(cls, func, types, args=(), kwargs=None):
    """What a call with an instance of a subclass does: what it does with plain tensors, and the tensors it returns become ones of `cls`.
    NotImplemented where a class that is no base of `cls` takes part."""
    if not all([issubclass(cls, t) for t in types]):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in (Tensor.grad.__get__, Tensor._base.__get__) else convert(result, cls)


Tensor._make_subclass = staticmethod(_make_subclass)
Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
Tensor.__torch_function__ = classmethod(_torch_function)
never_asks(Tensor)
