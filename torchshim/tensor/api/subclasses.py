"""Subclasses of Tensor: how instances are made, and the `__torch_function__` that they inherit."""
from __future__ import annotations

from ...engine import contiguous_strides, meta_of, value_of
from ..core.device import device as make_device, get_default_device, to_jax
from ..core.dispatch import wrap
from ..core.dtype import get_default_dtype
from ..core.layout import strided
from ..core.overriding import DisableTorchFunctionSubclass, convert, dispatches, never_asks, of_class
from ..core.tensor import Tensor
from ..core.view import detached
from .bind import function
from .parameters import type_name
from .views import alias_of

_NO_TENSOR = ("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class inherits "
              "from Tensor.")


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


def _make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=None, device=None,
                           pin_memory=False, requires_grad=False, dispatch_sizes_strides_policy=None, dispatch_device=False,
                           dispatch_layout=False, _extra_dispatch_keys=None, storage_size=None):
    """A tensor without memory whose class answers, in `__torch_dispatch__`, all operators. TypeError for a class that has none."""
    if not issubclass(cls, Tensor):
        raise TypeError(_NO_TENSOR)
    if not dispatches(cls):
        raise RuntimeError(f"{cls.__name__} must define a __torch_dispatch__")
    if storage_offset or dispatch_sizes_strides_policy or layout not in (None, strided):
        raise NotImplementedError("torchshim: Tensor._make_wrapper_subclass with storage_offset, a layout or a policy")
    shape = tuple([int(n) for n in size])
    if strides is None:
        strides = contiguous_strides(shape)
    kind = dtype or get_default_dtype()
    where = to_jax(get_default_device() if device is None else make_device(device))
    v = value_of(None, meta_of(shape, kind.np, where, tuple([int(n) for n in strides])))
    v.extra = lambda: NotImplementedError(f"torchshim: the memory of {cls.__name__}, which has none: its __torch_dispatch__ was not asked")
    t = of_class(wrap(v), cls)
    return t._ts_ask_for_grad() if requires_grad else t


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
