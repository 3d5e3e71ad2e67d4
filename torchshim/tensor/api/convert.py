"""Tensors to other dtypes and devices."""
from __future__ import annotations

import jax

from ...engine import array_of, context, meta_of, value_of, warn
from ...ops import promotion as P
from ...ops.shape import TO
from .bind import FUNCTIONS, function, number, type_name
from .creation import like_strides
from .misfits import hashed
from .views import warn_once
from ..core import settings
from ..core.device import accelerators, device as torch_device, get_default_device, set_default_device, to_jax
from ..core.dispatch import apply1, wrap
from ..core.dtype import ALL, dtype as torch_dtype, get_default_dtype, np_dtype
from ..core.handle import TensorBase, edge, read
from ..core.memory_format import check_format, memory_format, preserve_format, suggested
from ..core.tensor import Tensor


def to_device(t, device):
    """A copy of `t` on a JAX device; its gradient comes back to where `t` is."""
    v = read(t)
    if device == "meta":
        a = None
    elif v.meta.device == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    else:
        with jax.enable_x64(True):
            a = jax.device_put(array_of(v), device)
    moved = wrap(value_of(a, meta_of(v.meta.shape, v.meta.dtype, device, like_strides(v.meta))))
    e = edge(t)
    if e is not None and context.grad:
        from ..core.transfer import transfer_node
        moved._ts_edge = transfer_node(t, e, moved)
    return moved


def _parse(args, kw):
    dtype, device, copy, fmt = None, None, False, kw.get("memory_format")
    given, args = args, list(args)
    for k, kinds in (("dtype", (torch_dtype, type)), ("device", (str, int, torch_device)), ("tensor", TensorBase)):
        if k in kw:
            if kw[k] is not None and (not isinstance(kw[k], kinds) or isinstance(kw[k], bool)):
                raise refusal_of_to(args, kw)
            args.insert(0, kw[k])
    for x in args:
        if isinstance(x, (torch_dtype, type)):
            if dtype is not None:
                raise refusal_of_to(given, kw)
            dtype = np_dtype(x)
        elif isinstance(x, (str, torch_device)) or (isinstance(x, int) and not isinstance(x, bool)):
            device = to_jax(torch_device(x))
        elif isinstance(x, TensorBase):
            dtype, device = x._ts_meta.dtype, x._ts_meta.device
        elif x is None or isinstance(x, bool):
            continue
        elif isinstance(x, float):
            dtype = P.float64                  # torch takes a number for a tensor of its kind
        else:
            raise refusal_of_to(given, kw)
    bools = [x for x in args if isinstance(x, bool)]
    if len(bools) > 1:
        copy = bools[1]
    return dtype, device, kw.get("copy", copy), fmt


def refusal_of_to(args, kw):
    """torch's error for a call of `to` with a keyword that it does not have, or that means something else."""
    got = [type_name(x) for x in args] + [f"{k}={type_name(kw[k])}" for k in hashed(kw)]
    more = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"
    return TypeError(f"to() received an invalid combination of arguments - got ({', '.join(got)}{', ' if kw and not args else ''}), but "
                     f"expected one of:\n * (torch.device device = None, torch.dtype dtype = None, {more}\n * (torch.dtype dtype, {more}\n"
                     f" * (Tensor tensor, {more}\n")


def _cast(t, dtype):
    """A tensor with another NumPy dtype; itself where it has that."""
    m = t._ts_meta
    if dtype == m.dtype:
        return t
    if P.kind_of(m.dtype) == 3 and P.kind_of(dtype) < 3 and P.kind_of(dtype):
        warn_once("Casting complex values to real discards the imaginary part")
    return apply1(TO, t, (dtype, like_strides(m)))


def to(self, *args, **kw):
    """This tensor with another dtype, device or memory format; itself when nothing changes (unless copy=True)."""
    if len(args) == 1 and args[0].__class__ is torch_dtype and not kw:
        return _cast(self, args[0].np)
    unknown = set(kw) - {"dtype", "device", "tensor", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise refusal_of_to(args, kw)
    dtype, device, copy, fmt = _parse(args, kw)
    m = self._ts_meta
    t = self
    if device is not None and device is not m.device and device != m.device:
        t = to_device(self, device)
        copy = False
    if dtype is None:
        dtype = m.dtype
    if fmt is not None and not isinstance(fmt, memory_format):
        raise refusal_of_to(args, kw)
    strides = like_strides(m, fmt)
    same_layout = fmt is None or fmt is preserve_format or suggested(m) is fmt       # asked by the strides' order, as torch does
    if dtype == m.dtype and not copy and same_layout:
        return t
    if P.kind_of(m.dtype) == 3 and P.kind_of(dtype) < 3 and P.kind_of(dtype):
        warn_once("Casting complex values to real discards the imaginary part")
    return apply1(TO, t, (dtype, strides))


Tensor.to = to


def _cast_method(name, dtype):
    def method(self, *, memory_format=None):
        if memory_format is None:
            return _cast(self, dtype.np)
        check_format(name, memory_format)
        return to(self, dtype, memory_format=memory_format)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor as {dtype}."
    setattr(Tensor, name, method)


for _name, _d in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("long", "int64"),
                  ("int", "int32"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
                  ("chalf", "complex32"), ("cfloat", "complex64"), ("cdouble", "complex128")):
    _cast_method(_name, ALL[_d])

_LEGACY = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
           "LongTensor": "int64", "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8",
           "BoolTensor": "bool", "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128"}
_LEGACY_NAME = {v: k for k, v in _LEGACY.items()}


def type_(self, dtype=None, non_blocking=False, *, memory_format=None, **kw):
    """The old type name of this tensor, or the tensor as `dtype`."""
    if memory_format is not None:
        check_format("type", memory_format)
    if kw.keys() - {"async"}:
        raise TypeError(f"type() got an unexpected keyword argument '{min(kw.keys() - {'async'})}'")
    if dtype is None:
        where = "torch." if self.device.type == "cpu" else f"torch.{self.device.type}."
        return where + _LEGACY_NAME.get(self.dtype.name, f"{P.c_name(self.dtype.np)}Tensor")
    if isinstance(dtype, str):
        dtype = Tensor if dtype == "torch.Tensor" else _legacy_class(dtype)
    if dtype is Tensor:                    # the old default class of tensors
        return to(self, torch_device("cpu"), get_default_dtype(), memory_format=memory_format)
    if isinstance(dtype, _LegacyMeta):
        return to(self, torch_device(dtype._kind), dtype.dtype, memory_format=memory_format)
    if isinstance(dtype, type):
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    if not isinstance(dtype, torch_dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return to(self, dtype, memory_format=memory_format)


type_.__name__ = "type"
Tensor.type = type_


def type_as(self, other):
    """This tensor with the dtype and on the device of another."""
    if not isinstance(other, TensorBase):
        raise TypeError(f"type_as(): argument 'other' (position 1) must be Tensor, not {type_name(other)}")
    return to(self, other)


Tensor.type_as = type_as


def cpu(self, *, memory_format=None):
    """This tensor on the CPU."""
    if memory_format is None:
        return to(self, torch_device("cpu"))
    check_format("cpu", memory_format)
    return to(self, torch_device("cpu"), memory_format=memory_format)


def cuda(self, device=None, non_blocking=False, *, memory_format=None):
    """This tensor on the current CUDA device."""
    device = torch_device("cuda" if device is None else device)
    if device.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return to(self, device, memory_format=memory_format)


def _not_here(kind, error, text):
    def method(self, device=None, non_blocking=False, *, memory_format=None):
        raise error(text)
    method.__name__ = method.__qualname__ = kind
    method.__doc__ = f"{error.__name__}: there is no such device."
    setattr(Tensor, kind, method)


Tensor.cpu, Tensor.cuda = cpu, cuda
_not_here("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")
_not_here("xpu", AssertionError, "Torch not compiled with XPU enabled")
_not_here("mtia", AssertionError, "Torch not compiled with MTIA enabled.")


@function(torch=False)
def pin_memory(self, device=None):
    """The tensor: XLA pins what it copies, memory is not pinned before. It must be on the CPU, and there must be an accelerator."""
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if jax.default_backend() == "cpu" and not accelerators("cuda"):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


@function(torch=False)
def share_memory_(self):
    """Move the memory to where other processes can map it; returns the tensor."""
    from ..core.shared import share
    share(self)
    return self


@function(torch=False)
def record_stream(self, s):
    """Without effect on an accelerator: JAX keeps memory as long as work that was given out needs it. NotImplementedError on the CPU, as
    in torch."""
    if self.device.type == "cpu":
        raise NotImplementedError("Could not run 'aten::record_stream' with arguments from the 'CPU' backend.")


class _LegacyMeta(type):
    """The kind of the old classes of tensors: of one dtype (`dtype`), on one type of device (`_kind`)."""
    def __new__(mcs, name, bases, members):
        for base in bases:
            raise TypeError(f"type '{base.__module__}.{base.__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, members)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.device.type == cls._kind

    def __call__(cls, *args, device=None):
        from .creation import legacy
        cls._need()
        return legacy(args, cls.dtype, device, cls._kind)

    def _need(cls):
        if cls._kind == "cuda" and not accelerators("cuda"):
            raise TypeError(f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


def _legacy_classes(module, kind):
    return {name: _LegacyMeta(name, (), {"dtype": ALL[d], "_kind": kind, "__module__": module, "__doc__": f"The old name of {d} tensors."})
            for name, d in _LEGACY.items()}


FUNCTIONS.update(_legacy_classes("torch", "cpu"))
CUDA_TENSORS = _legacy_classes("torch.cuda", "cuda")


def _legacy_class(text):
    """The class that "torch.FloatTensor" or "torch.cuda.FloatTensor" names."""
    *path, name = text.split(".")
    found = FUNCTIONS if path == ["torch"] else CUDA_TENSORS if path == ["torch", "cuda"] else {}
    if name not in _LEGACY or name not in found:
        raise ValueError(f"invalid type: '{text}'")
    return found[name]


@function(method=False)
def set_default_tensor_type(t, /):
    """The old way to set the default dtype and device: by a class or its name."""
    if settings.once(set_default_tensor_type):
        warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
             "torch.set_default_device() as alternatives.")
    from ..core.dtype import set_default_dtype
    if isinstance(t, str):
        t = _legacy_class(t)
    if not isinstance(t, _LegacyMeta):
        raise TypeError("invalid type object")
    t._need()
    set_default_dtype(t.dtype)
    if t._kind != get_default_device().type:
        set_default_device(None if t._kind == "cpu" else t._kind)


@function(method=False)
def result_type(tensor=None, other=None, *, scalar=None, scalar1=None, scalar2=None):
    """The dtype of arithmetic between two tensors or numbers."""
    tensor1, tensor2 = [x for x in (scalar1, scalar, tensor, other, scalar2) if x is not None]
    from ...ops import promotion as P
    from ..core.dtype import FROM_NP
    dims, zeros, nums = [], [], []
    for x in (tensor1, tensor2):
        if isinstance(x, TensorBase):
            (dims if x._ts_meta.ndim else zeros).append(x._ts_meta.dtype)
        else:
            nums.append({bool: "b", int: "i", float: "f", complex: "c"}[type(number(x))])
    return FROM_NP[P.result_type(dims, zeros, nums)]


@function(torch=False)
def module_load(self, other, assign=False):
    """What a module takes for this tensor when it loads `other`: `other` itself (assign), or this tensor with the values of `other`."""
    return other.detach() if assign else self.copy_(other).detach()
