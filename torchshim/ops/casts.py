"""Conversions between dtypes as torch makes them."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import half
from . import promotion as P
from .loops import kernel


def short(x, half):
    """`x` rounded to the type `half`, where there is one, as wide as before."""
    return x if half is None else x.astype(half).astype(x.dtype)


def cast(a, dtype):
    """astype with torch's rules: complex to real drops the imaginary part; to bool is `!= 0`. complex32 are complex64 as short as these."""
    if a.dtype == dtype:
        return a
    if dtype is P.complex32:
        return half.rounded(a)
    if jnp.issubdtype(a.dtype, jnp.complexfloating) and not jnp.issubdtype(dtype, jnp.complexfloating):
        if dtype == np.bool_:
            return a != 0
        a = jnp.real(a)
    if jnp.issubdtype(dtype, jnp.integer) and jnp.issubdtype(a.dtype, jnp.floating):
        return _to_integer(a, np.dtype(dtype))
    if dtype in P.FLOAT8:
        return _to_float8(a.astype(np.float32), dtype)
    return a.astype(dtype)


def as_float8(a, dtype):
    """Float32 numbers, in NumPy or JAX, as one of torch's float8 types: beyond the largest of e4m3fn, which has no infinity, is the largest;
    e8m0fnu has no sign."""
    return (a.clip(-448, 448) if dtype == P.float8_e4m3fn else abs(a) if dtype == P.float8_e8m0fnu else a).astype(dtype)


_to_float8 = functools.partial(jax.custom_jvp, nondiff_argnums=(1,))(as_float8)


@_to_float8.defjvp
def _to_float8_jvp(dtype, primals, tangents):
    """That of a conversion, also where numbers were cut off."""
    return _to_float8(*primals, dtype), tangents[0].astype(dtype)


def _to_integer(a, dtype):
    """A float beyond an integer's range becomes what torch's x86 kernels make of it: the smallest int32, or int64, cut to size."""
    if a.dtype.itemsize < 4:
        half, a = a.dtype, a.astype(np.float32)
        if half == np.float16 and dtype == np.uint32:
            return _truncated(a, np.int64).astype(dtype)       # torch converts these one by one
    if dtype.kind == "u" and dtype.itemsize >= 4:
        signed, middle = np.dtype(f"i{dtype.itemsize}"), 2.0 ** (8 * dtype.itemsize - 1)
        high = a >= middle
        low = _truncated(jnp.where(high, a - a.dtype.type(middle), a), signed)
        return jnp.where(high, low ^ np.iinfo(signed).min, low).astype(dtype)
    by_64 = dtype == np.int64 or (dtype == np.uint8 and a.dtype == np.float64)
    return _truncated(a, np.int64 if by_64 else np.int32).astype(dtype)


def _truncated(a, dtype):
    return (truncated_to_int64 if dtype == np.int64 else truncated_to_int32)(jax.lax.stop_gradient(a))


def _kept_within(a, dtype):
    limit = a.dtype.type(2.0 ** (8 * np.dtype(dtype).itemsize - 1))
    return jnp.where((a >= -limit) & (a < limit), a, -limit).astype(dtype)


@kernel
def truncated_to_int64(a):
    """The integer part; the smallest integer for what is no integer of this size."""
    return _kept_within(a, np.int64)


@kernel
def truncated_to_int32(a):
    """The integer part; the smallest integer for what is no integer of this size."""
    return _kept_within(a, np.int32)
