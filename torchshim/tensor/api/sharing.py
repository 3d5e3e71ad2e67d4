"""Tensors in the memory of NumPy arrays, buffers and DLPack exporters; and tensors for those who read DLPack."""
from __future__ import annotations

import ctypes

import numpy as np

from ...engine import borrowed, meta_of, value_of, warn
from .bind import function
from .creation import done, tensor
from .host_data import check_array
from .parameters import type_name
from ...ops.promotion import bfloat16, c_name
from ..core import settings
from ..core.device import device as torch_device, to_jax
from ..core.dispatch import wrap
from ..core.dtype import FROM_NP, get_default_dtype
from ..core.handle import TensorBase
from ..core.host import hosted
from ..core.tensor import Tensor


@function(method=False)
def as_tensor(data, dtype=None, device=None):
    """`data` itself when it is a tensor that fits; else a new tensor, which shares an array's memory if it can."""
    if isinstance(data, TensorBase):
        t = data if dtype is None else data.to(dtype)
        return t if device is None else t.to(device)
    if isinstance(data, np.ndarray):
        check_array(data)
        t = _around(data)
        t = t if dtype is None else t.to(dtype)
        return t if device is None else t.to(device)
    return tensor(data, dtype=dtype, device=device)


@function(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor of `obj`: itself or in its memory if it is a tensor, an array, a DLPack exporter or a buffer (read as `dtype`), else of its
    elements.

    copy: True for memory of its own in any case, False for an error where it cannot share. A tensor with a history keeps it unless
    requires_grad is False."""
    t = None
    if isinstance(obj, TensorBase):
        t = obj
    elif isinstance(obj, np.generic):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
    elif isinstance(obj, np.ndarray):
        check_array(obj)
        t = _around(obj)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        t = from_dlpack(obj)
    elif _is_buffer(obj):
        t = frombuffer(obj, dtype=dtype or get_default_dtype())
    if t is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    where = t.device if device is None else torch_device(device)
    if copy is False and where != t.device:
        raise ValueError(f"can't alias tensor from device '{t.device}' to '{where}'.")
    if copy is False and dtype is not None and dtype != t.dtype:
        raise ValueError(f"can't alias tensor with dtype '{c_name(t.dtype.np)}' into dtype '{c_name(dtype.np)}'.")
    own = t
    if where != t.device or dtype is not None and dtype != t.dtype:
        t = t.to(where, dtype or t.dtype)
    elif copy:
        t = t.clone()
    if requires_grad is None and t.grad_fn is not None and t is own:
        warn("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False "
             "explicitly to get the old behavior and silence this warning.")
    if requires_grad is False and t.requires_grad:
        return t.detach()
    return done(t, requires_grad and not t.requires_grad)


def _is_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


@function(method=False)
def from_numpy(ndarray):
    """A tensor that shares an array's memory, with the array's strides."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    check_array(ndarray)
    if not ndarray.flags.writeable:
        _warn_read_only(_READ_ONLY_ARRAY)
    return _around(ndarray)


_READ_ONLY_ARRAY = ("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
                    "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable "
                    "before converting it to a tensor. This type of warning will be suppressed for the rest of this program.")
_READ_ONLY_BUFFER = ("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
                     "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or "
                     "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
                     "program.")


def _warn_read_only(text):
    if settings.once(text):
        warn(text)


def _around(a):
    """A tensor in the memory of an array. A write to one that is read-only moves the tensor to memory of its own."""
    strides = tuple([s // a.itemsize for s in a.strides])
    m = meta_of(a.shape, a.dtype, to_jax("cpu"), None if a.flags.c_contiguous else strides)
    t = wrap(value_of(a.view(m.held) if m.held is not m.dtype else a, m))
    if m.numel:
        hosted(t._ts_st, borrowed(a, m))
    return t


@function(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor of `count` elements that shares the memory of a buffer from byte `offset` on; -1: all that fit."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size, n = dtype.itemsize, view.nbytes
    if n == 0 or count == 0:
        raise ValueError(f"both buffer length ({n}) and count ({count}) must not be 0")
    if not 0 <= offset < n:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({n} bytes) minus 1")
    if count < 0 and (n - offset) % size:
        raise ValueError(f"buffer length ({n - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})")
    if count > 0 and offset + count * size > n:
        raise ValueError(f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({n} bytes)")
    if view.readonly:
        _warn_read_only(_READ_ONLY_BUFFER)
    return done(_around(np.frombuffer(buffer, dtype.np, count, offset)), requires_grad)


@function("from_dlpack", method=False)
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor from any object with `__dlpack__`; it shares the object's memory where NumPy can read that."""
    if isinstance(ext_tensor, Tensor):
        t = exportable(ext_tensor).detach()
        t._ts_more().version = [0]             # it counts its own writes
    elif isinstance(ext_tensor, np.ndarray):
        t = from_numpy(ext_tensor)
    else:
        if type(ext_tensor).__name__ == "PyCapsule":
            ext_tensor = _Capsule(ext_tensor)
        if not hasattr(ext_tensor, "__dlpack__"):
            raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
                               "might have already constructed a tensor from it once.")
        t = _from_capsule(ext_tensor)
    t = t if device is None else t.to(device)
    return t.clone() if copy else t


def _from_capsule(exporter):
    import jax

    from ...interop import from_jax
    if not isinstance(exporter, jax.Array) and exporter.__dlpack_device__()[0] == 1:
        try:
            a = np.from_dlpack(exporter)
        except (BufferError, RuntimeError):    # NumPy has no bfloat16
            held = exporter if isinstance(exporter, _Capsule) else _Capsule(exporter.__dlpack__())
            if not _recoded(held.capsule, _BFLOAT, _INT):
                raise
            return _around(np.asarray(_Writable(np.from_dlpack(held)))).view(FROM_NP[bfloat16])
        return _around(np.asarray(_Writable(a)) if isinstance(exporter, _Capsule) else a)
    with jax.enable_x64(True):
        return from_jax(exporter if isinstance(exporter, jax.Array) else jax.dlpack.from_dlpack(exporter))


_INT, _BFLOAT = 0, 4                           # DLPack's codes


def _recoded(capsule, old, new):
    """Whether the elements of a capsule's memory had the code `old`; now they have `new`. Their kind is at one place of what it leads to."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    code = ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 20)
    if code.value != old:
        return False
    code.value = new
    return True


class _BFloats:
    """A bfloat16 tensor as those who read DLPack see it: memory of NumPy's, under its right name."""

    def __init__(self, t):
        self.array = t.view(FROM_NP[np.dtype("int16")]).numpy()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        capsule = self.array.__dlpack__(stream=stream, dl_device=dl_device, copy=copy)
        _recoded(capsule, _INT, _BFLOAT)
        return capsule

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def exportable(t):
    """`t`, if DLPack can carry it."""
    if t.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if t.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    return t


def exported(t):
    """The array that carries `t` through DLPack: NumPy's, which shares its memory, or JAX's where NumPy has none."""
    exportable(t)
    m = t._ts_meta
    if t.device.type == "cpu" and m.dtype.kind in "biufc" and m.numel and not t.is_conj():
        return t.numpy()
    if t.device.type == "cpu" and m.dtype == bfloat16 and m.numel:
        return _BFloats(t)
    from ...interop import to_jax as out
    return out(t)


@function(method=False)
def to_dlpack(tensor):
    """A DLPack capsule of the tensor's memory. It can be consumed once."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.__dlpack__()


class _Capsule:
    """A bare DLPack capsule, which says nothing of its device: it is taken to lie in host memory."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class _Writable:
    """The memory of a bare capsule: NumPy takes it to be read-only as it does not say, PyTorch writes to it."""

    def __init__(self, a):
        self.array = a
        self.__array_interface__ = {**a.__array_interface__, "data": (a.__array_interface__["data"][0], False)}
