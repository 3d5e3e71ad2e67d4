"""Methods of tensors that convert and index, as calls of ATen's operators; see `decomposed`."""
from __future__ import annotations

import torchshim as torch

from .. import Tensor
from ..tensor.core.device import device as as_device
from ..tensor.core.layout import strided
from .decomposed import RULES, rule
from .python import _asked, do, unseen, whole

_END = 2 ** 63 - 1


# -- numbers, dtypes, devices -----------------------------------------------------------------------------------------------------
@rule("item", "__float__", "__int__", "__bool__", "__index__", "__complex__")
def _item(self):
    if self.numel() != 1:
        with unseen():
            return self.item()                 # which says so
    return do("_local_scalar_dense", self)


RULES["__float__"] = lambda self: float(_item(self))
RULES["__int__"] = lambda self: int(_item(self))
RULES["__index__"] = lambda self: int(_item(self)).__index__()
RULES["__bool__"] = lambda self: bool(_item(self))
RULES["__complex__"] = lambda self: complex(_item(self))


@rule("numpy", "__array__")
def _numpy(self, *args, **kwargs):
    if _asked([self]):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    with unseen():
        return self.numpy(*args, **kwargs)


@rule("tolist")
def _tolist(self):
    if _asked([self]):
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got " + type(self).__name__)
    with unseen():
        return self.tolist()


@rule("to")
def _to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None, other=None):
    rest = list(args)
    whole = False                              # torch names every option unless only a dtype was given
    if rest and isinstance(rest[0], Tensor) or other is not None:
        like = other if other is not None else rest.pop(0)
        dtype, device, whole = like.dtype, like.device, True
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest and (isinstance(rest[0], (str, torch.device, int)) or rest[0] is None):
        device = rest.pop(0)
        if rest and isinstance(rest[0], torch.dtype):
            dtype = rest.pop(0)
        elif rest and rest[0] is None:
            rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    device = None if device is None else as_device(device)
    if not copy and (dtype is None or dtype is self.dtype) and (device is None or device == self.device) and (
            memory_format is None or self.is_contiguous(memory_format=memory_format)):
        return self
    named = {}
    if device is not None or whole:
        named = {"dtype": dtype or self.dtype, "layout": strided, "device": device or self.device}
    elif dtype is not None:
        named = {"dtype": dtype}
    if non_blocking:
        named["non_blocking"] = True
    if memory_format is not None:
        named["memory_format"] = memory_format
    return do("_to_copy", self, **named)


for _name, _dtype in (("float", torch.float32), ("double", torch.float64), ("half", torch.float16), ("bfloat16", torch.bfloat16),
                      ("int", torch.int32), ("long", torch.int64), ("short", torch.int16), ("char", torch.int8), ("byte", torch.uint8),
                      ("bool", torch.bool)):
    RULES[_name] = lambda self, dtype=_dtype: _to(self, dtype)
RULES["cpu"] = lambda self, memory_format=None: _to(self, "cpu")
RULES["cuda"] = lambda self, device="cuda", non_blocking=False: _to(self, device, non_blocking=non_blocking)
RULES["type_as"] = lambda self, other: _to(self, other.dtype)


@rule("type")
def _type(self, dtype=None, non_blocking=False):
    if dtype is None or not isinstance(dtype, torch.dtype):
        return NotImplemented if dtype is not None else self._ts_type()
    return _to(self, dtype)


def _lifted(name):
    def make(*args, **kwargs):
        with unseen():
            made = getattr(torch, name)(*args, **{k: x for k, x in kwargs.items() if k != "requires_grad"})
        made = do("lift_fresh", made)
        return made.requires_grad_() if kwargs.get("requires_grad") else made
    return make


RULES.update({name: _lifted(name) for name in ("tensor", "from_numpy", "frombuffer")})


@rule("as_tensor", "asarray")
def _as_tensor(data, *, dtype=None, device=None):
    if isinstance(data, Tensor):
        return _to(data, dtype=dtype, device=device)
    return RULES["tensor"](data, dtype=dtype, device=device)


@rule("new_tensor")
def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return RULES["tensor"](data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


# -- places ----------------------------------------------------------------------------------------------------------------------
def _first(start, stop):
    """Where a slice begins, as torch hands it on: beside an end that depends on values nothing is filled in."""
    return whole(start) if start is not None else None if getattr(stop, "of_values", False) else 0


def _indexed(self, index):
    """What the integers, slices and None of an index leave, and the tensors among it at their dimensions."""
    items = list(index) if isinstance(index, tuple) else [index]
    counted = sum([x.ndim if isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8) else 1 for x in items
                   if x is not None and x is not Ellipsis and not isinstance(x, bool)])
    made, dim, tensors = self, 0, []
    for x in items:
        if x is Ellipsis:
            dim += self.ndim - counted
        elif x is None:
            made = do("unsqueeze", made, dim)
            dim += 1
        elif isinstance(x, bool):
            raise NotImplementedError("torchshim: indexing with a bool under __torch_dispatch__")
        elif isinstance(x, slice):
            if isinstance(index, tuple) and x == slice(None):
                dim += 1
                continue
            start, stop, step = x.start, x.stop, x.step
            if isinstance(index, tuple) and start in (None, 0) and stop == made.shape[dim] and step in (None, 1):
                dim += 1                       # all of it
                continue
            made = do("slice.Tensor", made, dim, _first(start, stop), _END if stop is None else whole(stop),
                      1 if step is None else whole(step))
            dim += 1
        elif isinstance(x, Tensor) and (x.ndim or x.dtype is torch.bool):
            tensors += [None] * (dim - len(tensors)) + [x]
            dim += x.ndim if x.dtype in (torch.bool, torch.uint8) else 1
            if x.dtype in (torch.bool, torch.uint8):
                tensors += [...] * (x.ndim - 1)
        elif isinstance(x, (list, tuple)) or hasattr(x, "__array__") and not isinstance(x, Tensor) and getattr(x, "ndim", 0):
            tensors += [None] * (dim - len(tensors)) + [RULES["tensor"](x)]
            dim += 1
        else:
            made = do("select.int", made, dim, whole(x))
    return made, [t for t in tensors if t is not ...]


@rule("__getitem__")
def _getitem(self, index):
    made, tensors = _indexed(self, index)
    if tensors:
        return do("index.Tensor", made, tensors)
    return do("alias", self) if made is self else made


@rule("__setitem__")
def _setitem(self, index, value):
    if not isinstance(value, Tensor):
        value = RULES["tensor"](value, dtype=self.dtype, device=self.device)
    made, tensors = _indexed(self, index)
    if tensors:
        do("index_put_", made, tensors, value if value.dtype is made.dtype else _to(value, made.dtype))
        return
    while value.ndim > made.ndim and value.shape[0] == 1:
        value = do("select.int", value, 0, 0)
    if value.ndim == 0 and made.ndim:
        do("fill_.Tensor", made, value)
    else:
        do("copy_", made, value)


@rule("dropout")
def _dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    mask = do("div_.Scalar", do("bernoulli_.float", do("empty_like", input), 1 - p), 1 - p)
    return do("mul_.Tensor" if inplace else "mul.Tensor", input, mask)
