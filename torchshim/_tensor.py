"""torch._tensor: how pickles of PyTorch rebuild tensors with a class or attributes of their own."""
from __future__ import annotations

from collections import OrderedDict

from . import _utils
from .tensor.core.layout import strided
from .tensor.core.tensor import Tensor


def _rebuild_from_type_v2(func, new_type, args, state):
    """`func(*args)` as a `new_type` with `state`, through the class's __setstate__ if it has one of its own."""
    t = func(*args)
    if not isinstance(t, Tensor):
        raise TypeError(f"a tensor is to be rebuilt, but got {type(t).__name__}")
    if type(t) is not new_type:
        t = t.as_subclass(new_type)
    if getattr(t.__class__, "__setstate__", Tensor.__setstate__) is not Tensor.__setstate__:
        t.__setstate__(state)
        return t
    return _utils._set_obj_state(t, state)


# Dtypes that came to torch after its typed storages: their pickles hold an untyped storage and the dtype.
_UNTYPED = frozenset(("complex32", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2",
                      "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"))


def reduce(t):
    """Pickle as torch does: where the tensor lies in its storage, and its flags. One with a history comes back as a leaf."""
    from .nn.parameter import Parameter
    if t.is_quantized:
        from .tensor.quantized.fields import pickled
        return _utils._rebuild_qtensor, (*pickled(t), False, OrderedDict())
    if t.layout is not strided:
        flags = (t._coalesced,) if t.is_sparse else ()
        return _utils._rebuild_sparse_tensor, (t.layout, (*t._index, t._vals, t.size(), *flags))
    hooks, state = OrderedDict(), _utils._get_obj_state(t)
    if t.device.type == "meta":
        func, args = _utils._rebuild_meta_tensor_no_storage, (t.dtype, tuple(t.shape), tuple(t.stride()), t.requires_grad)
    elif type(t) is Parameter:
        data = t.detach()
        data.__class__ = Tensor
        if state:
            return _utils._rebuild_parameter_with_state, (data, t.requires_grad, hooks, state)
        return _utils._rebuild_parameter, (data, t.requires_grad, hooks)
    else:
        lies, metadata = t.detach(), None
        if t.is_conj():
            lies, metadata = lies.conj(), {"conj": True}
        if t.is_neg():
            lies, metadata = lies._neg_view(), {**(metadata or {}), "neg": True}
        place = lies.storage_offset(), tuple(lies.shape), tuple(lies.stride()), t.requires_grad, hooks
        flags = () if metadata is None else (metadata,)
        if t.dtype.name not in _UNTYPED:
            func, args = _utils._rebuild_tensor_v2, (lies._typed_storage(), *place, *flags)
        else:
            func, args = _utils._rebuild_tensor_v3, (lies.untyped_storage(), *place, t.dtype, *flags)
    if type(t) is Tensor and not state:
        return func, args
    return _rebuild_from_type_v2, (func, type(t), args, state)


def _convert(ret, cls):
    """What a function returned, with its tensors as `cls`."""
    if cls is Tensor:
        return ret
    if isinstance(ret, Tensor) and not isinstance(ret, cls):
        return ret.as_subclass(cls)
    return type(ret)([_convert(x, cls) for x in ret]) if isinstance(ret, (tuple, list)) else ret
