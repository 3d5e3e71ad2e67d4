"""Blocks of normals as PyTorch's CPU kernels make them: in groups of 16.

Within a group the first half gives radii and the second half angles; cosines
and sines go to the same halves of the result.

In single precision the kernel has its own logarithm, sine and cosine, with
fused multiply-adds.  Each has 2**24 possible arguments, so every shortcut taken
here was checked on all of them; tests/random/test_boxmuller.py does it again.
"""

import math
import threading

import numpy as np

from . import floats

PAIRS = 32768  # pairs worked on at once, so that the scratch stays in cache
f32, f64, i32, i64, u32 = np.float32, np.float64, np.int32, np.int64, np.uint32


def box_muller_f64(u, mean, std):
    """Normals from a float64 array of uniforms."""
    u = u.reshape(-1, 2, 8)
    r = np.sqrt(-2.0 * floats.libm(np.log, (1.0 - u[:, 0]).ravel()))
    cosine, sine = floats.polar(r, floats.TWO_PI * u[:, 1].ravel())
    out = np.empty_like(u)
    out[:, 0] = floats.fma64(cosine, std, mean).reshape(-1, 8)
    out[:, 1] = floats.fma64(sine, std, mean).reshape(-1, 8)
    return out.reshape(-1)


# Constants are arrays without dimensions: numpy takes those faster than numbers.
def _c32(v):
    return np.array(v, f32)


def _c64(v):
    """A float32 constant widened, the way it enters a fused operation."""
    return np.array(f32(v), f64)


_int = [np.array(v, i32) for v in range(32)]
_LOW24, _TWO24 = np.array(0xFFFFFF, i32), np.array(0x1000000, i32)
_MANTISSA, _SQRT_HALF = np.array(0x7FFFFF, i32), np.array(0x3F3504F3, i32)
_EVEN = np.array(-2, i32)
_ONE, _HALF, _MINUS2 = _c32(1), _c32(0.5), _c32(-2)
_HALF64 = np.array(0.5, f64)

# log(1+q) = q - q*q/2 + q**3 * P(q); P's coefficients, highest power first
_LOG_P = [_c64(v) for v in (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)]
_LN2_HIGH, _LN2_LOW = _c32(0.693359375), _c32(-2.12194440e-4)

_ANGLE = _c32(f32(2.0 * math.pi) * f32(2.0**-24))
_FOUR_OVER_PI = _c32(1.27323954473516)
# pi/4 in three float32 parts.  Subtracting them one at a time with roundings in
# between, or their float64 sum at once, is the same for every angle there is.
_PIO4 = _c64(0.78515625) + _c64(2.4187564849853515625e-4) + _c64(3.77489497744594108e-8)
_PIO4 = np.array(_PIO4)
_SIN = [_c64(v) for v in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)]
_COS = [_c64(v) for v in (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)]

# Adding and subtracting 1.5 * 2**(52+k) rounds a float64 to a multiple of 2**k: to
# float32 digits where, as in the first step of both series, the exponent is known.
_SIN_ROUND, _COS_ROUND = np.array(1.5 * 2.0**(52 - 30)), np.array(1.5 * 2.0**(52 - 33))
_SIN_STEP, _COS_STEP = np.array(_SIN[1] + _SIN_ROUND), np.array(_COS[1] + _COS_ROUND)
# Elsewhere it is done on the bits.  Exact ties go up then instead of to even, but
# no argument that occurs makes one.
_HALF_UNIT, _KEPT = np.array(0x10000000, i64), np.array(-0x20000000, i64)


class _Scratch(threading.local):
    """Work arrays of one thread, made on first use and kept."""

    arrays = None

    def get(self, pairs):
        if self.arrays is None:
            self.arrays = [np.empty(PAIRS, t) for t in (f32,) * 5 + (f64,) * 3]
        return [v[:pairs] for v in self.arrays]


_scratch = _Scratch()
_OCTET = np.dtype("V32")  # eight float32, moved as one item


def box_muller_f32(words, out, mean, std):
    """Normals from raw 32-bit words into float32 ``out``, which may share their
    memory; at most ``2 * PAIRS``."""
    words, out = words.view(_OCTET), out.view(_OCTET)
    radius, angle, cosine, sine, spare, wide, wide2, wide3 = _scratch.get(4 * words.size)
    radius.view(_OCTET)[...] = words[0::2]
    angle.view(_OCTET)[...] = words[1::2]
    radii(radius.view(i32), radius, cosine, sine, spare, wide, wide2)
    sines(angle.view(i32), sine, cosine, spare, wide, wide2, wide3)
    bits = radius.view(i32)
    np.bitwise_xor(bits, angle.view(i32), bits)
    np.multiply(cosine, radius, cosine)
    np.multiply(sine, radius, sine)
    out[0::2] = floats.fma32(cosine, std, mean).view(_OCTET)
    out[1::2] = floats.fma32(sine, std, mean).view(_OCTET)


def radii(k, out, e, q, y, q64, y64):
    """``sqrt(-2 log(1 - u))`` where u is the 24 low bits of ``k`` (destroyed, and
    may be ``out``'s memory); the rest is scratch."""
    np.bitwise_and(k, _LOW24, k)
    np.subtract(_TWO24, k, k)
    # 1-u = m * 2**e with sqrt(1/2) <= m < sqrt(2), read off the float's bits
    q[...] = k
    bits = q.view(i32)
    np.subtract(bits, _SQRT_HALF, bits)
    np.right_shift(bits, _int[23], k)
    np.subtract(k, _int[24], k)
    e[...] = k
    np.bitwise_and(bits, _MANTISSA, bits)
    np.add(bits, _SQRT_HALF, bits)
    np.subtract(q, _ONE, q)
    # P(q): steps are fused, that is float64 rounded to float32 digits after each
    q64[...] = q
    y_bits = y64.view(i64)
    np.multiply(q64, _LOG_P[0], y64)
    np.add(y64, _LOG_P[1], y64)
    for c in _LOG_P[2:]:
        np.add(y_bits, _HALF_UNIT, y_bits)
        np.bitwise_and(y_bits, _KEPT, y_bits)
        np.multiply(y64, q64, y64)
        np.add(y64, c, y64)
    y[...] = y64
    z, log = out, q
    np.multiply(y, q, y)
    np.multiply(q, q, z)
    y64[...] = y
    q64[...] = z
    np.multiply(y64, q64, y64)
    np.multiply(e, _LN2_LOW, y)
    q64[...] = y
    np.add(y64, q64, y64)
    y[...] = y64
    np.multiply(z, _HALF, z)
    np.subtract(y, z, y)
    np.add(log, y, log)
    np.multiply(e, _LN2_HIGH, e)  # exact, so the sum below is the fused one
    np.add(log, e, log)
    np.multiply(log, _MINUS2, log)
    np.sqrt(log, out)


def sines(j, s, c, x, z64, x64, w64):
    """Sine and cosine of 2*pi*u, u being the 24 low bits of ``j``, up to a common
    sign; ``j`` is left holding just that sign's bit.  The rest is scratch."""
    y = s
    np.bitwise_and(j, _LOW24, j)
    x[...] = j
    np.multiply(x, _ANGLE, x)
    # octant, rounded up to even; then x = angle - octant * pi/4
    np.multiply(x, _FOUR_OVER_PI, y)
    j[...] = y
    np.add(j, _int[1], j)
    np.bitwise_and(j, _EVEN, j)
    w64[...] = j
    np.multiply(w64, _PIO4, w64)
    x64[...] = x
    np.subtract(x64, w64, x64)
    x[...] = x64
    x64[...] = x
    z = x
    np.multiply(x, x, z)
    z64[...] = z
    # cosine: 1 - z/2 + z*z*(...)
    np.multiply(z64, _COS[0], w64)
    np.add(w64, _COS_STEP, w64)
    np.subtract(w64, _COS_ROUND, w64)
    np.multiply(w64, z64, w64)
    np.add(w64, _COS[2], w64)
    c[...] = w64
    np.multiply(c, z, c)
    w64[...] = c
    np.subtract(w64, _HALF64, w64)
    np.multiply(w64, z64, w64)
    c[...] = w64
    np.add(c, _ONE, c)
    # sine: x + x*z*(...)
    np.multiply(z64, _SIN[0], w64)
    np.add(w64, _SIN_STEP, w64)
    np.subtract(w64, _SIN_ROUND, w64)
    np.multiply(w64, z64, w64)
    np.add(w64, _SIN[2], w64)
    s[...] = w64
    np.multiply(s, z, s)
    w64[...] = s
    np.multiply(w64, x64, w64)
    np.add(w64, x64, w64)
    s[...] = w64
    # in octants 2 and 6 they swap places and the cosine turns negative ...
    c_bits, s_bits, sign = c.view(i32), s.view(i32), x.view(i32)
    swap, both = z64.view(i32).reshape(2, -1)
    np.left_shift(j, _int[30], sign)
    np.right_shift(sign, _int[31], swap)
    np.bitwise_xor(c_bits, s_bits, both)
    np.bitwise_and(both, swap, both)
    np.bitwise_xor(s_bits, both, s_bits)
    np.bitwise_xor(c_bits, both, c_bits)
    np.bitwise_xor(c_bits, sign, c_bits)
    # ... and in octants 4 and 6 both change sign
    np.bitwise_and(j, _int[4], j)
    np.left_shift(j, _int[29], j)
