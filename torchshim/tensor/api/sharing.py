"""Tensors in the memory of NumPy arrays, buffers and DLPack exporters; and tensors for those who read DLPack."""
from __future__ import annotations

import numpy as np

from ...engine import borrowed, meta_of, value_of, warn
from .bind import function
from .creation import done, tensor
from ..core.device import to_jax
from ..core.dispatch import TensorBase, wrap
from ..core.dtype import FROM_NP
from ..core.host import hosted
from ..core.tensor import Tensor


@function("as_tensor", "asarray", method=False)
def as_tensor(data, dtype=None, device=None, *, copy=None, requires_grad=False):
    """`data` itself when it is a tensor that fits; else a new tensor, which shares an array's memory if it can."""
    if isinstance(data, TensorBase) and not copy:
        t = data
        if dtype is not None and t.dtype != dtype:
            t = t.to(dtype)
        return t if device is None else t.to(device)
    if isinstance(data, np.ndarray) and not copy and _shareable(data):
        t = _around(data)
        t = t if dtype is None else t.to(dtype)
        return done(t if device is None else t.to(device), requires_grad)
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


@function(method=False)
def from_numpy(ndarray):
    """A tensor that shares an array's memory, with the array's strides."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    _shareable(ndarray, raises=True)
    if not ndarray.flags.writeable:
        _warn_read_only(_READ_ONLY_ARRAY)
    return _around(ndarray)


def _shareable(a, raises=False):
    """Whether a tensor can lie in an array's memory; `raises`: torch's error if not."""
    error = None
    if a.dtype not in FROM_NP and a.dtype.newbyteorder("=") not in FROM_NP:
        error = TypeError(f"can't convert np.ndarray of type numpy.{a.dtype.type.__name__}. {_SUPPORTED}")
    elif any(s < 0 for s in a.strides):
        error = ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                           "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
    elif any(s % a.itemsize for s in a.strides):
        error = ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
                           "memory.")
    elif not a.dtype.isnative:
        error = ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                           "currently not supported.")
    if error is not None and raises:
        raise error
    return error is None


_SUPPORTED = ("The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
              "uint16, uint8, and bool.")
_READ_ONLY_ARRAY = ("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
                    "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable "
                    "before converting it to a tensor. This type of warning will be suppressed for the rest of this program.")
_READ_ONLY_BUFFER = ("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
                     "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or "
                     "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
                     "program.")
_warned: set = set()


def _warn_read_only(text):
    if text not in _warned:
        _warned.add(text)
        warn(text)


def _around(a):
    """A tensor in the memory of an array. A write to one that is read-only moves the tensor to memory of its own."""
    strides = tuple([s // a.itemsize for s in a.strides])
    m = meta_of(a.shape, a.dtype, to_jax("cpu"), None if a.flags.c_contiguous else strides)
    t = wrap(value_of(a, m))
    if m.numel:
        hosted(t._st, borrowed(a, m))
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
        return _around(np.from_dlpack(exporter))
    with jax.enable_x64(True):
        return from_jax(exporter if isinstance(exporter, jax.Array) else jax.dlpack.from_dlpack(exporter))


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
    m = t._meta
    if t.device.type == "cpu" and m.dtype.kind in "biufc" and m.numel and not t.is_conj():
        return t.numpy()
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
