"""Storages as Python objects: `Tensor.untyped_storage()`, the deprecated typed ones, and what can be done with their bytes."""
from __future__ import annotations

import copy
import math
import os
import sys

import numpy as np

from ...engine import Memory, array_of, is_contiguous, meta_of, present, value_of, warn
from ..core import storage as memory
from .bind import function
from .sharing import from_numpy
from ..core.dtype import ALL, default_changed, get_default_dtype
from ..core.growing import others_with, storage_objects
from ..core.handle import meta
from ..core.tensor import Tensor, tensor_from
from ..core.view import detached

_KINDS = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
          "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "complex_float": "complex64", "complex_double": "complex128",
          **{n: n for n in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz")}}


def untyped(st):
    """The one UntypedStorage of a Storage, as long as somebody holds it."""
    s = storage_objects.get(id(st))
    if s is None:
        s = object.__new__(getattr(st, "attributes", {}).get("__class__", UntypedStorage))
        s._ts_st, s.fresh = st, False
        storage_objects[id(st)] = s
    return s


def fresh_storage(array, dtype, device=None):
    """An UntypedStorage around a 1-d array that no tensor sees yet: the first one that sees all of it gives it its shape."""
    t, dtype = tensor_from(array), dtype.held
    if t.dtype is not dtype:                   # dtypes that NumPy has no name for come as bytes
        t = t.view(dtype)
    s = untyped((t if device is None else t.to(device))._ts_st)
    s.fresh = True
    return s


def mapped(filename, shared, size, dtype):
    """The UntypedStorage of the first `size` elements of a file."""
    if shared:                                 # the file is made, or made longer, if it does not have them
        with open(filename, "ab") as file:
            missing = size * np.dtype(dtype).itemsize - file.tell()
            if missing > 0:
                file.truncate(file.tell() + missing)
    elif os.path.getsize(filename) < size * np.dtype(dtype).itemsize:
        raise RuntimeError(f"file {filename} not large enough: {os.path.getsize(filename)} bytes of {size * np.dtype(dtype).itemsize}")
    return from_numpy(np.memmap(filename, dtype, "r+" if shared else "c", shape=(size,))).untyped_storage()


@function(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
              requires_grad=False):
    """A tensor of the first `size` elements of a file, mapped into memory; with `shared` what is written to it is written to the file."""
    dtype = get_default_dtype() if dtype is None else dtype
    found = mapped(filename, bool(shared), size, dtype.np)._tensor(dtype)
    return found.requires_grad_() if requires_grad else found


def tensor_on(storage, dtype, offset, size, stride):
    """A tensor on a storage's memory: `size` and `stride` in elements of `dtype`, from element `offset` on.

    RuntimeError when it would reach beyond the storage."""
    s, size, stride = storage.untyped(), tuple(size), tuple(stride)
    st, m = s._ts_st, s._ts_st.value.meta
    reach = offset + sum([(n - 1) * d for n, d in zip(size, stride)]) + 1 if 0 not in size else 0
    if offset < 0 or min(stride, default=0) < 0 or min(size, default=0) < 0 or reach * dtype.itemsize > s.nbytes():
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
                           f"{dtype.itemsize} requiring a storage size of {reach * dtype.itemsize} are out of bounds for storage of size "
                           f"{s.nbytes()}")
    fresh, s.fresh = s.fresh, False
    base = object.__new__(Tensor)
    base._ts_st, base._ts_view, base._ts_edge, base._ts_extra = st, None, None, None
    if dtype.np != m.dtype:
        base = detached(s._tensor(dtype))
        m = meta(base)
    elif fresh and not offset and math.prod(size) == m.numel and m.numel and is_contiguous(size, stride):
        full = meta_of(size, m.dtype, m.device, stride)
        st.value = value_of(None if m.device == "meta" else array_of(st.value).reshape(size), full)
        return base
    if m.shape == size and m.strides == stride and not offset:
        return base
    return detached(base.as_strided(size, stride, offset))


def buffered(buffer, dtype, count=-1, offset=0, byte_order=None):
    """An UntypedStorage of `count` elements of a bytes-like object, all from byte `offset` on unless told otherwise, a copy.

    byte_order: "little", "big" or "native", that of the object; it may be left out for elements of one byte."""
    size = dtype.itemsize
    if byte_order is None and size > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "native", "little", "big"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    data = memoryview(buffer).cast("B")
    if not 0 <= offset <= len(data):
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(data)}")
    if count > 0 and len(data) - offset < count * size:
        raise ValueError(f"buffer has only {len(data) - offset} elements after offset {offset}, but specified a size of {count}")
    if count < 0 and (len(data) - offset) % size:
        raise ValueError(f"buffer size ({len(data)}) must be a multiple of element size ({size})")
    taken = np.frombuffer(data[offset:] if count < 0 else data[offset:offset + count * size], np.uint8).copy()
    if byte_order not in (None, "native", sys.byteorder) and not dtype.is_complex:
        taken = np.ascontiguousarray(taken.reshape(-1, size)[:, ::-1]).reshape(-1)
    elif byte_order not in (None, "native", sys.byteorder):
        taken = np.ascontiguousarray(taken.reshape(-1, 2, size // 2)[:, :, ::-1]).reshape(-1)
    return from_numpy(taken).untyped_storage()


class _Casts:
    """Copies of a storage's elements in other dtypes, of an untyped one's bytes: float(), long() and so on; and what few ask for."""
    __slots__ = ()
    filename = None
    is_hpu = False

    def type(self, dtype=None, non_blocking=False):
        """The name of its class, as torch.FloatStorage; given such a class or its name, its elements as those of that dtype."""
        if dtype is None:
            return self._kind()
        name = dtype if isinstance(dtype, str) else f"torch.{dtype.__name__}"
        if name == self._kind():
            return self
        wanted = NAMED.get(name.rpartition(".")[2])
        if wanted is None:
            raise AttributeError(f"module 'torch' has no attribute '{name.rpartition('.')[2]}'")
        return self._cast(wanted.dtype)

    def _cast(self, dtype):
        t = self._elements()
        return t.to(dtype, copy=True)._typed_storage()

    def cuda(self, device=None, non_blocking=False):
        """The storage on a GPU."""
        from ..core.device import device as of
        return self.to(device=of("cuda", device) if isinstance(device, int) else of("cuda" if device is None else device))

    def hpu(self, device=None, non_blocking=False):
        """AssertionError: there is none of these devices."""
        raise AssertionError("HPU device module is not loaded")

    def share_memory_(self):
        """Move the memory to where other processes can map it; returns the storage."""
        self._elements().share_memory_()
        return self

    def is_shared(self):
        """Whether other processes can map the memory."""
        return self._elements().is_shared()

    def pin_memory(self, device="cuda"):
        """A copy in memory that an accelerator reads from, where there is one."""
        self._elements().pin_memory()
        return self

    def is_pinned(self, device="cuda"):
        return False


def _cast(name, dtype):
    def cast(self):
        return self._cast(dtype)
    cast.__name__, cast.__qualname__ = name, f"_Casts.{name}"
    cast.__doc__ = f"A storage of {dtype}: a copy of the elements, of an untyped one's bytes, as such."
    return cast


for _name, _dtype in _KINDS.items():
    setattr(_Casts, _name, _cast(_name, ALL[_dtype]))


def _index(i, n, what="torch.UntypedStorage"):
    try:
        i = i.__index__()
    except AttributeError:
        raise TypeError(f"can't index a {what} with {type(i).__name__}") from None
    if not -n <= i < n:
        raise IndexError(f"index {i} out of range for storage of size {n}")
    return i % n


class UntypedStorage(_Casts):
    """The bytes that one or several tensors share."""
    __slots__ = ("_ts_st", "fresh", "__weakref__")
    __module__ = "torch.storage"
    is_sparse = is_sparse_csr = False

    def __new__(cls, *args, device=None):
        if len(args) > 1 or args and not isinstance(args[0], (int, list, tuple)):
            raise TypeError("UntypedStorage() takes a number of bytes or a sequence of them")
        given = args[0] if args else 0
        a = np.zeros(given, np.uint8) if isinstance(given, int) else np.array(given, np.uint8)
        t = tensor_from(a)
        st = (t if device is None else t.to(device))._ts_st
        if cls is not UntypedStorage:
            st.attributes = {"__class__": cls}
        return untyped(st)

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The first bytes of a file, mapped into memory; with `shared` what is written to them is written to the file."""
        return mapped(filename, shared, nbytes, np.uint8)

    @staticmethod
    def from_buffer(buffer, byte_order=None, count=-1, offset=0, *, dtype=None):
        """The bytes of `count` elements of a bytes-like object; see `buffered`."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        return buffered(buffer, dtype, count, offset, byte_order)

    def __setattr__(self, name, value):
        """What a user sets stays as long as the memory does, whoever holds this object meanwhile."""
        if name in UntypedStorage.__slots__:
            object.__setattr__(self, name, value)
        else:
            st = self._ts_st
            st.attributes = {**getattr(st, "attributes", {}), name: value}

    def __getattr__(self, name):
        try:
            return self._ts_st.attributes[name]
        except (AttributeError, KeyError):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def _tensor(self, dtype=None):
        """A 1-d tensor of all of it. What is written through it leaves the versions of other tensors alone."""
        st, m = self._ts_st, self._ts_st.value.meta
        t = object.__new__(Tensor)
        t._ts_st, t._ts_view, t._ts_edge, t._ts_extra = st, None, None, None
        t._ts_more().version = [0]
        if m.ndim != 1 or not m.contiguous:
            t = t.as_strided((m.numel,), (1,), 0)
        if dtype is None or dtype.np == m.dtype:
            return t
        if self.nbytes() % dtype.itemsize:
            raise RuntimeError(f"self.size(-1) must be divisible by {dtype.itemsize} to view bytes as {dtype}")
        return t.view(dtype)

    def _bytes(self):
        return self._tensor(ALL["uint8"])

    _elements = _bytes

    def _kind(self):
        return "torch.storage.UntypedStorage"

    def new(self):
        """An empty one on the same device."""
        return UntypedStorage(0, device=self.device)

    def mps(self):
        """RuntimeError: there are none of these devices."""
        raise RuntimeError("torch.UntypedStorage(): Storage device not recognized: mps")

    def byteswap(self, dtype):
        """Turn the bytes of each element around, in place; those of a complex one by its parts."""
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        if size > 1:
            self._bytes().copy_(self._bytes().view(-1, size).flip(1).reshape(-1))

    def nbytes(self):
        """Number of bytes."""
        m = self._ts_st.value.meta
        return m.numel * m.dtype.itemsize

    size = __len__ = nbytes

    def element_size(self):
        """1: the elements are bytes."""
        return 1

    def __sizeof__(self):
        """Bytes in memory, those of its elements among them."""
        return object.__sizeof__(self) + self.nbytes()

    def data_ptr(self):
        """The address that tensors of this storage count from; 0 where there are no bytes."""
        return memory.address(self._ts_st) if self.nbytes() and self._ts_st.value.meta.device != "meta" else 0

    @property
    def device(self):
        from ..core.device import from_jax
        return from_jax(self._ts_st.value.meta.device)

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    def get_device(self):
        """Index of the device, -1 on the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def tolist(self):
        """The bytes as a list."""
        return self._bytes().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, i):
        if isinstance(i, slice):
            if i.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {i.step}, but only a step of 1 is supported")
            return from_numpy(self._bytes().numpy()[i]).untyped_storage()          # the same memory, by way of the host
        return self._bytes()[_index(i, self.nbytes())].item()

    def __setitem__(self, i, value):
        t = self._bytes()
        t[i if isinstance(i, slice) else _index(i, self.nbytes())] = value

    def fill_(self, value):
        """Set every byte."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Take over the bytes of another storage."""
        self._bytes().copy_(source.untyped()._bytes())
        return self

    def clone(self):
        """A copy."""
        return self._tensor().clone().untyped_storage()

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        key = ("torchshim storage", id(self._ts_st))      # the same that tensors use, so that aliases stay aliases
        if key not in memo:
            memo[key] = memory.new_storage(present(self._ts_st.value))
            memo[("torchshim keep", id(self._ts_st))] = self._ts_st
        return untyped(memo[key])

    def untyped(self):
        return self

    def cpu(self):
        """The storage on the CPU: itself if it is there."""
        return self.to(device="cpu")

    def to(self, *, device, non_blocking=False):
        """The storage on a device."""
        t = self._tensor()
        return self if t.to(device) is t else t.to(device).untyped_storage()

    def resizable(self):
        """Whether torch could resize it: not once NumPy has seen its memory."""
        return self._ts_st.value.extra.__class__ is not Memory

    def resize_(self, size):
        """Let it have more bytes; what it has more holds anything. It can't lose those that tensors may see."""
        size, had, m = int(size), self.nbytes(), self._ts_st.value.meta
        if size != had:
            if not self.resizable():
                raise RuntimeError("Trying to resize storage that is not resizable")
            if size < had or size % m.dtype.itemsize or not m.dense:
                raise NotImplementedError(f"torchshim: resizing a storage of {had} bytes to {size}")
            from .shape import grow
            t = self._tensor()
            grow([t, *others_with(t)], size // m.dtype.itemsize)
        return self

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and other._ts_st is self._ts_st

    def __hash__(self):
        return hash(id(self._ts_st))

    def __repr__(self):
        rows = "".join(f"\n {b}" for b in self.tolist()) if self.device.type != "meta" else "\n..."
        return f"{rows[1:]}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


_DEPRECATED = ("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
               "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
               "tensor.untyped_storage() instead of tensor.storage()")


def _say_deprecated():
    global _DEPRECATED
    if _DEPRECATED:
        text, _DEPRECATED = _DEPRECATED, None
        warn(text, UserWarning)


class TypedStorage(_Casts):
    """A storage read as elements of one dtype. Deprecated in torch."""
    __slots__ = ("_untyped_storage", "dtype", "__weakref__")
    __module__ = "torch.storage"
    is_sparse = is_sparse_csr = False

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        from ..core.dtype import get_default_dtype
        if not _internal:
            _say_deprecated()
        self = object.__new__(TypedStorage)
        self.dtype = dtype or get_default_dtype()
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError("TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
                                " * (*, torch.device device, torch.dtype dtype)\n * (int size, *, torch.device device, torch.dtype dtype)\n"
                                " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
                                " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
                                f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            self._untyped_storage = wrap_storage
            return self
        if len(args) > 1:
            raise RuntimeError("TypedStorage() takes a size or a sequence of elements")
        given = args[0] if args else 0
        from .creation import tensor, zeros
        t = zeros(given, dtype=self.dtype) if isinstance(given, int) else tensor(given, dtype=self.dtype)
        self._untyped_storage = (t if device is None else t.to(device)).untyped_storage()
        return self

    def _tensor(self, dtype=None):
        return self._untyped_storage._tensor(self.dtype.held)

    _elements = _tensor

    def _kind(self):
        named = self.dtype in [kind.dtype for kind in NAMED.values()]
        return f"torch.{self.pickle_storage_type()}" if named else "torch.storage.TypedStorage"

    def pickle_storage_type(self):
        """The name that files have for storages of its dtype, as FloatStorage."""
        for name, kind in NAMED.items():
            if kind.dtype is self.dtype:
                return name
        raise KeyError(f"dtype {self.dtype} is not recognized")

    @classmethod
    def from_file(cls, filename, shared, size):
        """RuntimeError: only the classes of one dtype, as torch.FloatStorage, read files."""
        raise RuntimeError("from_file can only be called on derived classes")

    @classmethod
    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0):
        """`count` elements of the default dtype, of a bytes-like object; see `buffered`."""
        return TypedStorage(wrap_storage=buffered(buffer, get_default_dtype(), count, offset, byte_order))

    def to(self, *, device, non_blocking=False):
        """The elements on a device."""
        return TypedStorage(wrap_storage=self._untyped_storage.to(device=device), dtype=self.dtype)

    def untyped(self):
        """The storage without the dtype."""
        return self._untyped_storage

    def nbytes(self):
        """Number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self):
        """Number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self):
        """Bytes of one element."""
        return self.dtype.itemsize

    def __sizeof__(self):
        """Bytes in memory, those of its elements among them."""
        return object.__sizeof__(self) + self.nbytes()

    def data_ptr(self):
        """As UntypedStorage.data_ptr."""
        return self._untyped_storage.data_ptr()

    device = property(lambda self: self._untyped_storage.device)
    is_cuda = property(lambda self: self._untyped_storage.is_cuda)

    def get_device(self):
        return self._untyped_storage.get_device()

    def tolist(self):
        """The elements as a list."""
        return self._tensor().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, i):
        if isinstance(i, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._tensor()[_index(i, self.size(), "TypedStorage")].item()

    def __setitem__(self, i, value):
        t = self._tensor()
        t[i if isinstance(i, slice) else _index(i, self.size(), "TypedStorage")] = value

    def fill_(self, value):
        """Set every element."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Take over the elements of another storage."""
        self._tensor().copy_(source._tensor())
        return self

    def clone(self):
        """A copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def __deepcopy__(self, memo):
        return TypedStorage(wrap_storage=copy.deepcopy(self._untyped_storage, memo), dtype=self.dtype)

    def resize_(self, size):
        """As UntypedStorage.resize_, of elements; gives None."""
        self._untyped_storage.resize_(int(size) * self.dtype.itemsize)

    def resizable(self):
        """As UntypedStorage.resizable."""
        return self._untyped_storage.resizable()

    def cpu(self):
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def __repr__(self):
        rows = "".join(f"\n {x}" for x in self.tolist()) if self.device.type != "meta" else "\n..."
        return f"{rows[1:]}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


class _Named(type):
    """torch.FloatStorage and the like: makers of a TypedStorage, and tests for one."""

    def __instancecheck__(cls, x):
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype

    def __call__(cls, *args, **kwargs):
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def from_file(cls, filename, shared=False, size=0):
        """As UntypedStorage.from_file, of `size` elements."""
        return TypedStorage(wrap_storage=mapped(filename, shared, size, cls.dtype.held.np), dtype=cls.dtype)

    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0):
        """`count` elements of a bytes-like object; see `buffered`."""
        return TypedStorage(wrap_storage=buffered(buffer, cls.dtype, count, offset, byte_order), dtype=cls.dtype)

    _from_buffer = from_buffer


_NAMES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
          "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
          "QInt8": "qint8", "QUInt8": "quint8", "QInt32": "qint32", "QUInt4x2": "quint4x2", "QUInt2x4": "quint2x4"}
NAMED = {f"{n}Storage": _Named(f"{n}Storage", (), {"dtype": ALL[d], "__module__": "torch", "__doc__": f"A TypedStorage of {d}."})
         for n, d in _NAMES.items()}
Storage = NAMED["FloatStorage"]


def _follow(d):
    """Let torch.Storage be the default dtype's."""
    module = sys.modules.get(__name__.partition(".")[0])
    found = next((c for c in NAMED.values() if getattr(c, "dtype", None) is d), None)
    if module is not None and found is not None:
        module.Storage = found


default_changed.append(_follow)


@function(method=False)
def is_storage(obj, /):
    """Whether obj is a storage object."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def untyped_storage(self):
    """The storage that this tensor sees a part of."""
    return untyped(self._ts_st)


def typed_storage(self):
    return TypedStorage(wrap_storage=untyped(self._ts_st), dtype=self.dtype, _internal=True)


def deprecated_storage(self):
    """The storage as elements of this tensor's dtype; torch has deprecated it, and says so once."""
    _say_deprecated()
    return typed_storage(self)


def storage_type(self):
    """The class of the tensor's storage by its old name: `torch.FloatStorage` of float32."""
    return NAMED[deprecated_storage(self).pickle_storage_type()]


deprecated_storage.__name__ = "storage"


Tensor.untyped_storage, Tensor.storage, Tensor._typed_storage = untyped_storage, deprecated_storage, typed_storage
Tensor.storage_type = storage_type
