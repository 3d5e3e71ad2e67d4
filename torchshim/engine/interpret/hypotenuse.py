"""NumPy's side of `ops.common.hypotenuse` of doubles: the formula and the error that rounding makes in it, block by block."""
from __future__ import annotations

import numpy as np

from .rules import known_call

_BLOCK = 1 << 13           # elements, of which some ten blocks stay in the cache
_SPLIT = 2.0 ** 27 + 1


def _rest(x, square):
    """x * x - square, exactly."""
    wide = x * _SPLIT
    high = wide - x
    np.subtract(wide, high, high)
    low = x - high
    np.multiply(high, high, wide)
    wide -= square
    high *= low
    high *= 2
    wide += high
    low *= low
    wide += low
    return wide


def _of_block(x, y, out):
    p, q = x * x, y * y
    larger, smaller = np.maximum(p, q), np.minimum(p, q)
    np.sqrt(p + q, out)
    plain = (out > 2.0 ** -400) & (out < 2.0 ** 500)           # false for nan
    rest = _rest(x, p)
    rest += _rest(y, q)
    r = out * out
    rest -= _rest(out, r)
    larger -= r
    larger += smaller
    rest += larger
    rest /= out
    rest *= 0.5
    if plain.all():
        out += rest
    else:
        np.add(out, rest, out, where=plain)
        np.hypot(x, y, out, where=~plain)


def hypotenuse_of_doubles(params, ins, outs):
    shape = ins[0].shape
    if ins[1].shape != shape:
        return None

    def hypotenuse(x, y):
        x, y, out = np.ravel(x), np.ravel(y), np.empty(x.size)
        with np.errstate(all="ignore"):
            for k in range(0, out.size, _BLOCK):
                _of_block(x[k:k + _BLOCK], y[k:k + _BLOCK], out[k:k + _BLOCK])
        return [out.reshape(shape)]
    return hypotenuse


known_call(hypotenuse_of_doubles)
