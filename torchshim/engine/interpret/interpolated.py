"""What lies between two arrays as one NumPy function, with the roundings of the body in `ops.arithmetic.lerp`."""
from __future__ import annotations

import numpy as np

from .fused import _flat
from .fused_sums import multiply_add
from .rules import Spec
from .shared import shared

_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def lerp(shape, dtype, number):
    """A function of (from, to, weight), of which the first two have this shape and the last one too, or it is a `number`. None where the
    general rules are to do it."""
    whole, one = Spec(shape, dtype), Spec((), dtype)
    add = multiply_add({}, [one if number else whole, whole, whole], [whole]) if dtype in _TYPES and shape and 0 not in shape else None
    if add is None:
        return None
    if number:
        return _by_number(add, shared(np.subtract, [whole, whole], whole), dtype.type(0.5), dtype.type(1))
    if dtype == np.float32 and add is multiply_add({}, [one, one, one], [one]):        # rounded once, in float64
        return None
    nearer = _nearer(dtype)

    def some(out, x, y, w, weight, near):
        nearer(x, y, w, weight, near)
        np.subtract(y, x, out)
        out *= weight
        out += near
    flat = _flat(some, 2)
    return lambda *given: flat(*map(np.asarray, given))


def _by_number(add, subtract, half, one):
    def run(x, y, w):
        x, y, w = np.asarray(x), np.asarray(y), half.dtype.type(w)
        return add(*((w, subtract(y, x), x) if abs(w) < half else (w - one, subtract(y, x), y)))
    return run


def _nearer(dtype):
    """Writes what to multiply by, w where |w| < 0.5 and w - 1 elsewhere, and what to begin with, x or y: by their bits, without branches."""
    word = np.dtype(f"i{dtype.itemsize}")
    half, one = [np.array(n, dtype).view(word) for n in (0.5, 1)]
    size, below, sign = np.array(np.iinfo(word).max), half - word.type(1), np.array(8 * word.itemsize - 1, word)

    def nearer(x, y, w, weight, near):
        far, bits, x, y = weight.view(word), near.view(word), x.view(word), y.view(word)
        np.bitwise_and(w.view(word), size, bits)
        np.subtract(below, bits, bits)
        np.right_shift(bits, sign, bits)       # all ones where it is far
        np.bitwise_and(bits, one, far)         # 1.0 there, else 0.0
        np.subtract(w, weight, weight)
        taken = np.bitwise_xor(x, y)
        taken &= bits
        np.bitwise_xor(taken, x, bits)
    return nearer
