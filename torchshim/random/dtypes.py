"""The dtypes of random fills: names in messages, precision, C-like casts."""

import ml_dtypes
import numpy as np

from ..engine.quiet import quiet
from ..ops.promotion import c_name, complex32

bfloat16 = np.dtype(ml_dtypes.bfloat16)
float16, float32, float64 = np.dtype("f2"), np.dtype("f4"), np.dtype("f8")
PART = {complex32: float16, np.dtype("c8"): float32, np.dtype("c16"): float64}

DIGITS = {float64: 53, float32: 24, float16: 11, bfloat16: 8}
LARGEST = {t: float(ml_dtypes.finfo(t).max) for t in DIGITS}


def cast(x, dtype):
    """float64 or float32 to a floating dtype, by way of float32 when short."""
    if x.dtype == dtype:
        return x
    if dtype.itemsize == 2 and x.dtype == float64:
        x = _quiet_cast(x, float32)
    return _quiet_cast(x, dtype)


def _quiet_cast(x, dtype):
    return quiet(x.astype, dtype)


def cast_integers(x, dtype):
    """int64 to any dtype as C does it."""
    if dtype in DIGITS:
        return x.astype(dtype) if dtype.itemsize > 2 else x.astype(float32).astype(dtype)
    return x != 0 if dtype == bool else x.astype(dtype, copy=False)


def not_implemented(kernel, dtype):
    """PyTorch's error for a kernel that lacks a dtype."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{c_name(dtype)}'")


def require_floating(dtype, kernel, n=1):
    """Refuse dtypes that a continuous fill does not reach, where it has n elements to fill."""
    if n and dtype not in DIGITS:
        raise not_implemented(kernel, dtype)


def require_continuous(dtype, what, named, n=1):
    """The same for the fills that say so in a sentence."""
    if n and dtype not in DIGITS:
        raise RuntimeError(
            f"{what} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {named(dtype)}")
