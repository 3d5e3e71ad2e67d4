"""Ranges of random integers and how floating dtypes narrow them."""

import functools

import numpy as np

from ..engine import warn
from ..ops.promotion import cpp_name
from .dtypes import DIGITS, LARGEST, PART, cast_integers


def modulo(x, m):
    """``x % m`` of unsigned integers, by their fast division by a scalar."""
    m = x.dtype.type(m)
    if m & (m - 1) == 0:
        return x & (m - 1)
    return x - x // m * m


@functools.cache
def _limits(dtype):
    if dtype in DIGITS:
        return -LARGEST[dtype], LARGEST[dtype]
    if dtype == bool or dtype in PART:
        return 0, -1 if dtype in PART else 1
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def check(low, last, dtype):
    """Refuse bounds a dtype cannot hold; warn of those it holds with gaps."""
    bottom, top = _limits(dtype)
    if bottom <= low <= top and bottom <= last <= top and dtype not in DIGITS:
        return
    if dtype in PART:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types")
    for bound, value in (("from", low), ("to - 1", last)):
        if not bottom <= value <= top:
            raise RuntimeError(f"{bound} is out of bounds for {cpp_name(dtype)}")
        if dtype in DIGITS and abs(value) > 2**DIGITS[dtype]:
            digits = DIGITS[dtype]
            warn(
                f"{bound} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision "
                f"limitations {cpp_name(dtype)} can support discrete uniform distribution "
                "only within this range. This warning will become an error in version 1.7 "
                "release, please fix the code in advance")


def _through(value, dtype):
    """An integer rounded to a floating dtype and back; 2**63 wraps around."""
    rounded = int(cast_integers(np.array([value], np.int64), dtype)[0])
    return rounded if rounded < 2**63 else -(2**63)


def snap_low(low, dtype):
    """The lower bound, moved up where rounding to the dtype could undercut it."""
    up = _through(low + 1, dtype)
    if up >= low:
        return low
    return up + 2 ** (abs(low + 1).bit_length() - DIGITS[dtype])


def snap_high(high, dtype):
    """The upper bound, moved down where rounding to the dtype could reach it."""
    down = _through(high - 1, dtype)
    if down < high:
        return high
    return down - 2 ** (abs(high - 1).bit_length() - DIGITS[dtype])
