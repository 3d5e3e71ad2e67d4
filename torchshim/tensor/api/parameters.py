"""What a parameter of a signature takes, and how torch's argument errors write it."""
from __future__ import annotations

import numbers

import numpy as np

from ...ops.registry import REQUIRED
from ..core.device import device as torch_device
from ..core.dtype import dtype as torch_dtype
from ..core.handle import TensorBase
from ..core.layout import layout as torch_layout
from ..core.memory_format import memory_format
from ..core.size import Size

#: NumPy's names of parameters.
OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim"}
_PRINTED = {"Scalar": "Number", "ScalarType": "torch.dtype", "SymInt": "int", "Device": "torch.device", "Generator": "torch.Generator",
            "Layout": "torch.layout", "MemoryFormat": "torch.memory_format"}

_MADE_AT_RUN_TIME = 1 << 9                    # CPython's Py_TPFLAGS_HEAPTYPE


def type_name(x):
    """How torch's argument errors call a type."""
    if isinstance(x, (torch_dtype, torch_device, torch_layout, memory_format, Size)):
        return f"torch.{type(x).__name__}"
    return name_in_c(type(x))


def name_in_c(c):
    """What C calls a class: those that are written in C have their module's name in theirs."""
    return c.__name__ if c.__flags__ & _MADE_AT_RUN_TIME or c.__module__ == "builtins" else f"{c.__module__}.{c.__name__}"


def shown_name(p):
    """A parameter's name in Python."""
    return "input" if p.name == "self" and p.type != "Scalar" else p.name


def _is_int(x, alone=True):
    """alone: a tensor has no dimensions, though it has one element."""
    if x.__class__ is int:
        return True
    if isinstance(x, TensorBase):
        return x.numel() == 1 and not (alone and x.ndim) and not (x.is_floating_point() or x.is_complex()) and x.dtype.np != np.bool_
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _is_number(x):
    return isinstance(x, (numbers.Number, np.generic)) or isinstance(x, TensorBase) and x.ndim == 0 and not x.requires_grad


def _is_float(x):
    return _is_number(x) and not isinstance(x, (complex, np.complexfloating))


_IS = {
    "int": _is_int, "SymInt": _is_int, "float": _is_float, "Scalar": _is_number, "Number": _is_number,
    "bool": lambda x: isinstance(x, (bool, np.bool_)),
    "str": lambda x: isinstance(x, (str, bytes)), "ScalarType": lambda x: isinstance(x, (torch_dtype, type)),
    "Layout": lambda x: isinstance(x, torch_layout), "MemoryFormat": lambda x: isinstance(x, memory_format),
    "Device": lambda x: isinstance(x, (str, int, torch_device)) and not isinstance(x, bool), "Tensor": lambda x: isinstance(x, TensorBase),
}


def takes(p, x, op):
    """Whether parameter `p` of `op` takes the argument `x`."""
    if x is None:
        return p.optional
    base = p.type.partition("[")[0].rstrip("?")
    fits = _IS.get(base)
    if fits is None:
        return True
    if p.is_list:
        if isinstance(x, (list, tuple)):
            if base in ("int", "SymInt"):      # the others are looked at when they are needed
                return not x or fits(x[0])
            return all([fits(y) or y is None and "?[" in p.type for y in x])
        if p.type.partition("[")[2] == "]":
            return False                       # int[1] takes an int too
        return _is_int(x, alone=False) if fits is _is_int else fits(x)
    return fits(x) or base == "Tensor" and p.name in op.numbers and _is_number(x)


def fits_element(p, x):
    """Whether a list's parameter takes a list with such an element."""
    return _IS[p.type.partition("[")[0].rstrip("?")](x)


def kind(p):
    """What torch calls what the parameter takes."""
    base = p.type.partition("[")[0].rstrip("?")
    return f"tuple of {base}s" if p.is_list else _PRINTED.get(base, base)


def printed(p):
    """A parameter as signatures show it."""
    said = int(p.default) if isinstance(p.default, float) and p.default == p.default // 1 and p.name != "base" else p.default
    if isinstance(said, (list, tuple)) and said:
        said = "{" + ",".join(map(str, said)) + "}"
        return f"{kind(p)} {shown_name(p)} = {said}"
    if p.name == "reduction" and p.default == 1:
        said = "at::Reduction::Mean"
    default = "" if p.default is REQUIRED else f' = "{said}"' if isinstance(p.default, str) else f" = {said}"
    return f"{kind(p)} {shown_name(p)}{default}"
