"""x * y + z rounded once, as processors with fused multiply-adds give it: of a number and an array by BLAS, else in float64."""
from __future__ import annotations

import ctypes
import functools

import numpy as np

from .. import blas
from .rules import F32, F64, known_call
from .shared import shared

_LONG = 1 << 11            # elements from which BLAS is faster than three loops of NumPy in float64
_FEW = 1 << 12             # up to here float64 costs little; products of larger arrays are rounded before the sum
_LANES = 32                # so many at a time BLAS rounds once on each processor; what is left over, on some, twice
_ROUTINES = {F32: ("saxpy", ctypes.c_float), F64: ("daxpy", ctypes.c_double)}


def _adder(size, dtype):
    """number * y + z by BLAS; None without it."""
    name, scalar = _ROUTINES[dtype]
    add = blas.routine(name, 6)
    if add is None or size >= 2 ** 31:
        return None
    one, address, rest = blas.number(1), blas.address, size % _LANES
    count, lanes = blas.number(size - rest), blas.number(_LANES)

    def sums(x, y, z):
        number = x.item()
        if not number:                         # BLAS would leave a nan in y out
            return [np.add(np.multiply(x, y), z)]
        y, number = np.ascontiguousarray(y), ctypes.byref(scalar(number))
        out = np.empty(y.shape, dtype)
        np.copyto(out, z)
        if size > rest:
            add(count, number, address(y), one, address(out), one)
        if rest:
            last, given, made = out.reshape(-1)[-rest:], np.zeros(_LANES, dtype), np.zeros(_LANES, dtype)
            given[:rest], made[:rest] = y.reshape(-1)[-rest:], last
            add(lanes, number, address(given), one, address(made), one)
            last[:] = made[:rest]
        return [out]
    return sums


def _wide(x, y, z):
    """The product is exact in float64."""
    if x.shape:                                # to convert one operand first costs less than to let NumPy do it in pieces
        out = x.astype(np.float64)
        out *= y
    elif y.shape:
        out = y.astype(np.float64)
        out *= x
    else:
        out = np.multiply(x, y, dtype=np.float64)
    out += z
    return [out.astype(np.float32)]


def _twice(x, y, z):
    out = np.multiply(x, y)
    return np.add(out, z, out=out if out.__class__ is np.ndarray and out.shape else None)


@functools.partial(known_call, name="multiply_add_of_memory")
@functools.partial(known_call, any_shape=True)
def multiply_add(params, ins, outs):
    x, out = ins[0], outs[0]
    dtype, size = out.dtype, out.size
    if dtype not in (F32, F64) or any(s.shape not in ((), out.shape) for s in ins) or not size or out.shape == () and dtype == F64:
        return None
    if dtype == F32 and size < (_LONG if x.shape == () else _FEW):
        return _wide
    if x.shape == () and ins[1].shape == out.shape:
        return _adder(size, dtype) or (_wide if dtype == F32 else None)
    twice = shared(_twice, ins, out)
    return lambda x, y, z: [twice(x, y, z)]
