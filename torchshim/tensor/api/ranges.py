"""New tensors of numbers at equal distances, and the identity."""
from __future__ import annotations

import math

import numpy as np

from ...engine import warn
from ...ops import promotion as P
from ...ops.creation import ARANGE, EYE, LINSPACE, LOGSPACE
from .bind import UNSET, function, type_name
from .creation import check_memory, delivered, destined, filled, made
from .looked_up import looked_up
from .reduction import as_int
from ..core.dtype import np_dtype
from ..core.handle import TensorBase


def _numbers(name, given):
    """{name: number} of the bounds of a range, which may be 0-d tensors."""
    made = {}
    for position, (what, x) in enumerate(given.items(), 1):
        if isinstance(x, np.generic) or isinstance(x, TensorBase) and not x.ndim and not x.requires_grad:
            x = x.item()
        if not isinstance(x, (int, float, complex)):
            raise TypeError(f"{name}(): argument '{what}' (position {position}) must be Number, not {type_name(x)}")
        made[what] = x
    if any([isinstance(x, complex) for x in made.values()]):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return made


def _range(name, start, end, step, d):
    """(start, end, step) as a kernel for the dtype `d` counts with them, or torch's errors."""
    if P.kind_of(d) not in (1, 2):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{P.c_name(d)}'")
    if math.isnan(step):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (step > 0) != (end >= start) and start != end:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return (int(start), int(end), int(step)) if P.kind_of(d) == 1 else (start, end, step)


def _spread(n, start, step, d, device):
    nums, kinds = ((start, step), "ii") if P.kind_of(d) == 1 else ((float(start), float(step)), "ff")
    return made(ARANGE, check_memory((n,), d.itemsize), d, device, nums, kinds)


@function(method=False)
@looked_up
def arange(start=UNSET, end=UNSET, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """start, start + step, … below end; arange(end) begins at 0."""
    if start is UNSET or end is UNSET:
        last = end if start is UNSET else start
        if last is UNSET:
            raise TypeError("arange() received an invalid combination of arguments: it takes (end), (start, end) or (start, end, step)")
        start, (last,) = 0, _numbers("arange", {"end": last}).values()
        step, = _numbers("arange", {"step": step}).values()
    else:
        start, last, step = _numbers("arange", {"start": start, "end": end, "step": step}).values()
    natural = P.default_float if float in (type(start), type(last), type(step)) else P.int64
    d, where = destined("arange", out, dtype, natural, device, layout)
    whole = start, last, step
    start, last, step = _range("arange", start, last, step, d)
    if d != P.int64:                           # torch counts in doubles here
        first, end, by = whole
        exact = all([isinstance(x, int) for x in whole])
        n = -(-(end - first) // by) if exact else math.ceil((end - first) / by)
    elif step == 0:
        raise ValueError("step must be nonzero")
    else:
        n = -(-(last - start) // step)
    if out is not None and out.numel() not in (0, n):
        warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not match the computed "
             f"number of elements {n}. Note that this may occur as a result of rounding error. The out tensor will be resized to a tensor "
             f"of shape ({n},).")
    return delivered("arange", _spread(n, start, step, d, where), out, requires_grad, layout, linear=True)


@function("range", method=False)
def range_(start, end, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """As arange, with `end` included; torch has deprecated it."""
    start, end, step = _numbers("range", {"start": start, "end": end, "step": step}).values()
    warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
         "builtin. Instead, use torch.arange, which produces values in [start, end).")
    d, where = destined("range", out, dtype, P.default_float, device, layout)
    start, end, step = _range("range", start, end, step, d)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    n = int((end - start) / step + 1)
    return delivered("range", _spread(n, start, step, d, where), out, requires_grad, layout, linear=True)


def _ends(name, start, end, steps, dtype, out, device, layout, more=()):
    """(start, end, dtype, device) of linspace and logspace, or torch's errors."""
    wrong = [f"{what} with {x.ndim} dimension(s)" for what, x in (("start", start), ("end", end)) if isinstance(x, TensorBase)]
    if any([isinstance(x, TensorBase) and x.ndim for x in (start, end)]):
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(wrong)}.")
    if any([isinstance(x, TensorBase) and x.is_meta for x in (start, end)]):       # which has numbers of a kind, but none in particular
        device = "meta" if device is None else device
        start, end = (x._ts_meta.dtype.type(0) if isinstance(x, TensorBase) else x for x in (start, end))
    start, end = (x.item() if isinstance(x, (TensorBase, np.generic)) else x for x in (start, end))
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type_name(steps)}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    natural, d = P.default_float, np_dtype(dtype)
    if any(isinstance(x, complex) for x in (start, end, *more)):
        natural = P.default_complex()
        if d is not None and P.kind_of(d) != 3:
            raise RuntimeError(f"torch.{name}(): inferred dtype c10::complex<{'float' if natural == P.complex64 else 'double'}> "
                               f"can't be safely cast to passed dtype {P.c_name(d)}")
        if out is not None and P.kind_of(out._ts_meta.dtype) != 3:
            raise RuntimeError(f"value cannot be converted to type {out._ts_meta.dtype} without overflow")
    d, where = destined(name, out, dtype, natural, device, layout)
    if P.kind_of(d) == 0 and steps > 1:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if P.kind_of(d) == 1 and (name == "linspace" or steps > 1):        # cast, and wrapped, before they are counted with
        bits = np.iinfo(d).bits
        start, end = (int(np.array(int(x) & (1 << bits) - 1, f"u{bits // 8}").astype(d)) for x in (start, end))
    elif P.kind_of(d) != 1:                    # a single number is filled in, which half types, and powers, let overflow
        for x in (start, end)[:2 if steps > 1 else int(steps == 1 and name == "linspace" and d.itemsize > 2)]:
            if not isinstance(x, complex):
                P.refuse_beyond(x, d)
    return start, end, d, where


def _lone(name, value, steps, where, out, requires_grad, layout):
    """A single truth, or none: what is filled in needs no kernel."""
    t = filled((steps.__index__(),), bool(value), P.bool_, where)
    return delivered(name, t, out, requires_grad, layout, linear=True)


def _spaced(op, name, numbers, steps, d, where, out, requires_grad, layout):
    if P.kind_of(d) == 3:
        nums, kinds = [part for x in numbers for part in (complex(x).real, complex(x).imag)], "ff" * len(numbers)
    else:
        nums, kinds = [float(x) for x in numbers], "f" * len(numbers)
    t = made(op, check_memory((steps.__index__(),), d.itemsize), d, where, tuple(nums), kinds)
    return delivered(name, t, out, requires_grad, layout, linear=True)


@function(method=False)
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """`steps` numbers from start to end, both included."""
    start, end, d, where = _ends("linspace", start, end, steps, dtype, out, device, layout)
    if P.kind_of(d) == 0:
        return _lone("linspace", start, steps, where, out, requires_grad, layout)
    return _spaced(LINSPACE, "linspace", (start, end), steps, d, where, out, requires_grad, layout)


@function(method=False)
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """base to the power of `steps` numbers from start to end."""
    if isinstance(base, complex):
        raise TypeError("logspace(): argument 'base' must be float, not complex")
    start, end, d, where = _ends("logspace", start, end, steps, dtype, out, device, layout)
    if P.kind_of(d) == 0:
        return _lone("logspace", base ** start, steps, where, out, requires_grad, layout)
    if P.kind_of(d) == 1 and steps == 1:       # it is filled in
        P.refuse_beyond(base ** start, d)
    return _spaced(LOGSPACE, "logspace", (start, end, base), steps, d, where, out, requires_grad, layout)


@function(method=False)
def eye(n, m=UNSET, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Ones on the diagonal."""
    n = as_int("eye", n, "n", 1)
    m = n if m is UNSET else as_int("eye", m, "m", 2)
    for k, name in ((n, "n"), (m, "m")):
        if k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
    d, where = destined("eye", out, dtype, P.default_float, device, layout)
    return delivered("eye", made(EYE, (n, m), d, where), out, requires_grad, layout)
