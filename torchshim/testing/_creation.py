"""`make_tensor`: tensors to try functions with, from the same random numbers as torch's."""
from __future__ import annotations

import math
import warnings

from .. import bool as torch_bool, empty, finfo, float32, iinfo, randint, view_as_real

#: Half-open intervals from which values are drawn where no bounds are given.
_INTEGERS, _REALS = (-9, 10), (-9, 9)


def _bounds(low, high, dtype, default, limits):
    """[low, high) within what the dtype holds."""
    low, high = default[0] if low is None else low, default[1] if high is None else high
    exact = not (dtype.is_floating_point or dtype.is_complex)
    if any([isinstance(x, float) and math.isnan(x) for x in (low, high)]):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and not exact and dtype.itemsize > 1:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
                      "be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < limits[0] or low >= limits[1]:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                         f"[{limits[0]}, {limits[1]})")
    low, high = [min(max(x, limits[0]), limits[1]) for x in (low, high)]
    return (math.ceil(low), math.ceil(high)) if exact else (low, high)


def _uniform(t, low, high):
    """Fill with numbers of [low, high), also where the interval is longer than the largest number."""
    if high - low >= finfo(t.dtype).max:
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """A tensor of `shape` with values drawn evenly from [low, high).

    Without bounds these are [-9, 10) for integers, [0, 10) for unsigned ones, [-9, 9) for floating and complex numbers. `noncontiguous`:
    every second element of a larger one; `exclude_zero`: zeros become the smallest normal number (1 for integers). ValueError for
    bounds that are NaN, in the wrong order or out of the dtype's range, and for gradients of integers.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}")
    exact = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and exact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}")
    spread = noncontiguous and math.prod(shape) > 1
    if spread:
        shape = (*shape[:-1], 2 * shape[-1])
    if exact:
        if dtype is torch_bool:
            default, limits = (0, 2), (0, 2)
        else:
            info = iinfo(dtype)                # randint takes its bounds as int64, so the largest of these is out of reach
            default, limits = _INTEGERS, (info.min, min(info.max + 1, 2 ** 63 - 1) if info.bits < 64 else info.max)
        low, high = _bounds(low, high, dtype, default, limits)
        t = randint(low, high, shape, device=device, dtype=dtype)
    else:
        low, high = _bounds(low, high, dtype, _REALS, (finfo(dtype).min, finfo(dtype).max))
        small = dtype.itemsize == 1
        t = empty(shape, device=device, dtype=float32 if small else dtype)
        _uniform(view_as_real(t) if dtype.is_complex else t, low, high)
        t = t.to(dtype) if small else t
    if spread:
        t = t[..., 1::2]
    elif memory_format is not None:
        t = t.clone(memory_format=memory_format)
    if exclude_zero:
        t[t == 0] = 1 if exact else finfo(dtype).tiny
    if not exact and requires_grad:
        t.requires_grad_()
    return t
