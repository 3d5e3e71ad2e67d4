"""Quotients and remainders as XLA gives them: those of integers towards 0, x / 0 is -1 and x % 0 is x; those of floats as C's fmod."""
from __future__ import annotations

import numpy as np

from .rules import F32, F64
from .shared import writes


def truncated(x, y):
    """x / y towards 0, for a positive number y: NumPy's loop for quotients by one number is vectorised, that for remainders is not."""
    if x.dtype.kind == "u":
        return np.floor_divide(x, y)
    out = np.right_shift(x, np.array(8 * x.itemsize - 1, x.dtype))
    out &= y - y.dtype.type(1)
    out += x
    return np.floor_divide(out, y, out)


@writes
def modulo(x, y, out=None):
    """x % y for a number y other than 0, likewise; it wraps."""
    out = np.empty(x.shape, x.dtype) if out is None else out
    if not out.flags.c_contiguous or not x.flags.c_contiguous or x.size <= _NEAR:
        return np.subtract(x, np.multiply(np.floor_divide(x, y), y), out)
    flat, to = x.reshape(-1), out.reshape(-1)
    for start in range(0, flat.size, _NEAR):
        given, made = flat[start:start + _NEAR], to[start:start + _NEAR]
        np.floor_divide(given, y, made)
        np.multiply(made, y, made)
        np.subtract(given, made, made)
    return out


_NEAR = 1 << 16            # elements of blocks on which several threads may work


def divide_int(x, y):
    if x.shape and not y.shape and y > 0:
        return truncated(x, y)
    quotient = np.floor_divide(x - np.fmod(x, y), y)  # exact, so floor is truncation
    return quotient if y.all() else np.where(y == 0, quotient.dtype.type(-1), quotient)


def divide_uint(x, y):
    quotient = np.floor_divide(x, y)
    return quotient if y.all() else np.where(y == 0, ~quotient.dtype.type(0), quotient)


def remainder_int(x, y):
    if x.shape and not y.shape and y > 0:
        quotient = truncated(x, y)
        return np.subtract(x, np.multiply(quotient, y, quotient), quotient)
    remainder = np.fmod(x, y)
    return remainder if y.all() else np.where(y == 0, x, remainder)


# squares of quotients of float32 numbers: below this, they and their products with the divisor are exact in float64
_EXACT = 2.0 ** 54
_BLOCK = 1 << 12           # elements of temporaries that stay in the processor's nearest memory
_FEW_REMAINDERS = 64       # up to here the C library's remainders take less time than the passes


def remainder_float(x, y):
    """C's fmod. For float32 by way of float64, where it is x - trunc(x / y) * y: NumPy's own loop asks the C library for each element."""
    if x.dtype != F32 or x.shape != y.shape or x.size <= _FEW_REMAINDERS:
        return np.fmod(x, y)
    if x.size <= _BLOCK:
        rest, divisor = x.astype(F64), y.astype(F64)
        quotient = np.divide(rest, divisor)
        np.trunc(quotient, quotient)
        # the first is true of what is not finite, too
        if not np.vdot(quotient, quotient) < _EXACT or not np.vdot(divisor, divisor) < np.inf:
            return np.fmod(x, y)
        quotient *= divisor
        rest -= quotient
        rest = rest.astype(F32)
        return np.copysign(rest, x, rest)
    result, x, y = np.empty(x.shape, F32), np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(y).reshape(-1)
    flat, room = result.reshape(-1), np.empty((3, min(x.size, _BLOCK)), F64)
    for start in range(0, x.size, _BLOCK):
        of, by, to = x[start:start + _BLOCK], y[start:start + _BLOCK], flat[start:start + _BLOCK]
        rest, divisor, quotient = room[:, :of.size]
        rest[...], divisor[...] = of, by
        np.divide(rest, divisor, quotient)
        np.trunc(quotient, quotient)
        if not quotient.dot(quotient) < _EXACT or not divisor.dot(divisor) < np.inf:
            np.fmod(of, by, to)
            continue
        quotient *= divisor
        np.subtract(rest, quotient, to, casting="same_kind")
        np.copysign(to, of, to)
    return result
