"""Float arithmetic with the exact bits of PyTorch's CPU random kernels.

Those kernels use fused multiply-adds and a particular single-precision
logarithm and sine/cosine, so ordinary numpy arithmetic is off by one unit in
the last place here and there.  What follows gets every bit right with numpy
alone:

* a float32 fused multiply-add is done in float64, where the product is exact
  and only the sum can round; the double rounding matters solely when the
  float64 sum looks like a float32 midpoint, and those rare elements are redone;
* double-precision transcendentals go through :mod:`math`, that is, the C
  library, because numpy's vectorised ones differ from it now and then.
"""

import cmath
import math
import threading
from fractions import Fraction

import numpy as np

f32, f64, i32, i64, u32 = np.float32, np.float64, np.int32, np.int64, np.uint32

TWO_PI = 2.0 * math.pi
_TINY32 = 2.0**-126


# ------------------------------------------------------------ fused multiply-add
def fma32(a, b, c):
    """``a * b + c`` rounded once to float32, written over the float32 array
    ``a``.  ``b`` and ``c`` are scalars."""
    b, c = f32(b), f32(c)
    if c == 0:  # adding +0 turns a product of -0 into +0, as the real thing does
        if b != 1:
            np.multiply(a, b, a)
        return np.add(a, c, a)
    if b == 1:
        return np.add(a, c, a)
    total = a.astype(f64)
    total *= f64(b)
    total += f64(c)
    suspects = _midpoints32(total)
    if suspects.size:
        exact = _round_to_odd_sum(a[suspects].astype(f64) * f64(b), f64(c))
    np.copyto(a, total, "same_kind")
    if suspects.size:
        a[suspects] = exact.astype(f32)
    return a


def _midpoints32(x):
    """Indices where rounding the float64 array to float32 may depend on bits
    that the float64 rounding already dropped."""
    low = x.view(i64) & 0x1FFFFFFF
    hit = low == 0x10000000
    hit |= np.abs(x) < _TINY32  # subnormal results have their midpoints elsewhere
    return np.flatnonzero(hit)


def _round_to_odd_sum(a, b):
    """``a + b`` in float64 with an inexact result forced odd, so that a later
    rounding to fewer digits is the correct one."""
    total, error = _two_sum(a, b)
    bits = np.ascontiguousarray(total).view(i64)
    away = np.where((error > 0) == (total > 0), 1, -1)
    bits = bits + np.where((error != 0) & ((bits & 1) == 0), away, 0)
    return bits.view(f64)


def _two_sum(a, b):
    """The rounded sum and its exact error."""
    total = a + b
    t = total - a
    return total, (a - (total - t)) + (b - t)


def _split(v):
    t = v * 134217729.0
    high = t - (t - v)
    return high, v - high


def fma64(a, b, c):
    """``a * b + c`` rounded once to float64, elementwise with broadcasting.

    Where the error-free transformations would overflow or underflow, elements
    are redone by the C library or in exact rational arithmetic."""
    a, b, c = (np.asarray(v, f64) for v in (a, b, c))
    if b.ndim == 0 and c.ndim == 0:
        if c == 0:
            return a * b + c
        if b == 1:
            return a + c
    a, b, c = (np.array(v) for v in np.broadcast_arrays(a, b, c))
    with np.errstate(all="ignore"):
        high = a * b
        (ah, al), (bh, bl) = _split(a), _split(b)
        low = ((ah * bh - high) + ah * bl + al * bh) + al * bl
        t_high, t_low = _two_sum(c, low)
        v_high, v_low = _two_sum(high, t_high)
        out = v_high + _round_to_odd_sum(t_low, v_low)
        sizes = np.abs(np.stack((a, b, high, out)))
        safe = ((sizes < 1e290) & ((sizes > 1e-280) | (sizes == 0))).all(axis=0)
        safe &= (high != 0) | (a == 0) | (b == 0)
        safe &= np.abs(c) < 1e290
    for k in np.flatnonzero(~safe):
        out.flat[k] = fma_scalar(a.flat[k], b.flat[k], c.flat[k])
    return out


def fma_scalar(a, b, c):
    """``a * b + c`` of three Python floats, rounded once."""
    plain = a * b + c
    if c == 0.0 or b == 1.0 or a == 0.0 or b == 0.0:
        return plain
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return plain
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


# ------------------------------------------------------------------ C library
def _log(v):
    return math.log(v) if v > 0.0 else (-math.inf if v == 0.0 else math.nan)


def _log1p(v):
    return math.log1p(v) if v > -1.0 else -math.inf


def _exp(v):
    try:
        return math.exp(v)
    except OverflowError:
        return math.inf


_EXACT = {np.log: _log, np.log1p: _log1p, np.tan: math.tan, np.exp: _exp}


def libm(ufunc, x):
    """The C library's version of a numpy ufunc, over a float64 array."""
    return np.fromiter(map(_EXACT[ufunc], x.tolist()), f64, x.size)


def polar(r, t):
    """``r*cos(t)`` and ``r*sin(t)`` with the C library's sine and cosine."""
    z = np.fromiter(map(cmath.rect, r.tolist(), t.tolist()), np.complex128, r.size)
    return z.real, z.imag


def box_muller_f64(u, mean, std):
    """Normals from a float64 array of uniforms, in groups of 16: the first
    half of a group gives the radii, the second half the angles."""
    u = u.reshape(-1, 2, 8)
    r = np.sqrt(-2.0 * libm(np.log, (1.0 - u[:, 0]).ravel()))
    cosine, sine = polar(r, TWO_PI * u[:, 1].ravel())
    out = np.empty_like(u)
    out[:, 0] = fma64(cosine, std, mean).reshape(-1, 8)
    out[:, 1] = fma64(sine, std, mean).reshape(-1, 8)
    return out.reshape(-1)


def nearly_f32(ufunc, x, finish=None):
    """float64 ``finish(ufunc(x))`` whose rounding to float32 is that of the C
    library's result: numpy's own ufunc, but where its last bits could tip the
    rounding, and for subnormal results, the C library's."""
    with np.errstate(all="ignore"):
        y = ufunc(x)
        out = y if finish is None else finish(y)
        close = (out.view(i64) + (_SLACK - 0x10000000)) & 0x1FFFFFFF < 2 * _SLACK
        close |= ~(np.abs(out) >= _TINY32)
        redo = np.flatnonzero(close)
        if redo.size:
            y = libm(ufunc, x[redo])
            out[redo] = y if finish is None else finish(y)
    return out


_SLACK = 64  # units in the last place of float64; numpy promises less than 4


def log_u(x):
    """C library ``log`` over an array that may hold zeros."""
    return libm(np.log, x)


# ------------------------------------------- single-precision Box-Muller blocks
PAIRS = 32768  # pairs worked on at once, so that the scratch stays in cache

# log(1+q) = q - q*q/2 + q**3 * P(q); P's coefficients, highest power first
_LOG_P = [f64(float.fromhex(h)) for h in (
    "0x1.2043760000000p-4", "-0x1.d7a3700000000p-4", "0x1.de4a340000000p-4",
    "-0x1.fcba9e0000000p-4", "0x1.23d37e0000000p-3", "-0x1.555ca00000000p-3",
    "0x1.999d580000000p-3", "-0x1.fffff80000000p-3", "0x1.5555540000000p-2")]
_LN2_HIGH, _LN2_LOW = f32(0.693359375), f32(-2.12194440e-4)
_SQRT_HALF_BITS = 0x3F3504F3
# pi/4 in three float32 parts.  Subtracting them one at a time with roundings in
# between, or their float64 sum at once, is the same for every angle there is.
_PIO4 = sum(f64(f32(v)) for v in (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8))
_FOUR_OVER_PI = f32(1.27323954473516)
_ANGLE = f32(f32(TWO_PI) * f32(2.0**-24))
_SIN = [f64(f32(v)) for v in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)]
_COS = [f64(f32(v)) for v in (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)]
# Adding and subtracting 1.5 * 2**(52+k) rounds a float64 to a multiple of 2**k:
# to float32 digits where, as after the first step of both, the exponent is known.
_SIN_ROUND, _COS_ROUND = f64(1.5 * 2.0**(52 - 30)), f64(1.5 * 2.0**(52 - 33))


_HALF_UNIT, _KEPT = i64(0x10000000), i64(-0x20000000)


class _Scratch(threading.local):
    """Work arrays of one thread, made on first use and kept."""

    def arrays(self):
        if not hasattr(self, "made"):
            self.made = [np.empty(PAIRS, t) for t in (f32,) * 5 + (f64,) * 3]
        return self.made


_scratch = _Scratch()
_OCTET = np.dtype("V32")  # eight float32, moved as one item


def box_muller_f32(words, out, mean, std):
    """Normals from raw 32-bit words in groups of 16 into float32 ``out``, at
    most ``2 * PAIRS`` of them.

    Radius words occupy the first half of each group, angle words the second;
    cosines and sines go to the same halves of the result."""
    words, out = words.view(_OCTET), out.view(_OCTET)
    pairs = 4 * words.size
    radius, angle, cosine, sine, spare, wide, wide2, wide3 = (
        v[:pairs] for v in _scratch.arrays())
    np.copyto(radius.view(_OCTET), words[0::2])
    np.copyto(angle.view(_OCTET), words[1::2])
    radius_f32(radius.view(u32), radius, cosine, sine, spare, wide, wide2)
    sincos_f32(angle.view(u32), sine, cosine, spare, wide, wide2, wide3)
    bits = radius.view(i32)
    np.bitwise_xor(bits, angle.view(i32), bits)
    np.multiply(cosine, radius, cosine)
    np.multiply(sine, radius, sine)
    np.copyto(out[0::2], fma32(cosine, std, mean).view(_OCTET))
    np.copyto(out[1::2], fma32(sine, std, mean).view(_OCTET))


def _round_digits(bits):
    """Round float64s, given as int64, to float32 digits in place.  Exact ties
    go up rather than to even; no argument that occurs here is one."""
    np.add(bits, _HALF_UNIT, bits)
    np.bitwise_and(bits, _KEPT, bits)


def radius_f32(words, out, e, q, y, q64, y64):
    """``sqrt(-2 log(1 - u))`` for the 24 low bits of ``words`` (destroyed)."""
    k = words.view(i32)
    np.bitwise_and(k, 0xFFFFFF, k)
    np.subtract(0x1000000, k, k)
    # 1-u = m * 2**e with sqrt(1/2) <= m < sqrt(2), read off the float's bits
    np.copyto(q, k, "unsafe")
    bits = q.view(i32)
    np.subtract(bits, _SQRT_HALF_BITS, bits)
    np.right_shift(bits, 23, k)
    np.subtract(k, 24, k)
    np.copyto(e, k, "unsafe")
    np.bitwise_and(bits, 0x7FFFFF, bits)
    np.add(bits, _SQRT_HALF_BITS, bits)
    np.subtract(q, f32(1), q)
    np.copyto(q64, q)
    # Horner steps are fused: in float64, rounded to float32 digits after each
    y_bits = y64.view(i64)
    np.multiply(q64, _LOG_P[0], y64)
    np.add(y64, _LOG_P[1], y64)
    for c in _LOG_P[2:]:
        _round_digits(y_bits)
        np.multiply(y64, q64, y64)
        np.add(y64, c, y64)
    np.copyto(y, y64, "same_kind")
    z, log = out, q
    np.multiply(y, q, y)
    np.multiply(q, q, z)
    np.copyto(y64, y)
    np.copyto(q64, z)
    np.multiply(y64, q64, y64)
    np.multiply(e, _LN2_LOW, y)
    np.copyto(q64, y)
    np.add(y64, q64, y64)
    np.copyto(y, y64, "same_kind")
    np.multiply(z, f32(0.5), z)
    np.subtract(y, z, y)
    np.add(log, y, log)
    np.multiply(e, _LN2_HIGH, e)  # exact, so the sum below is the fused one
    np.add(log, e, log)
    np.multiply(log, f32(-2), log)
    np.sqrt(log, out)


def sincos_f32(words, s, c, x, z64, x64, w64):
    """Sine and cosine of 2*pi*u for the 24 low bits of ``words``, up to a common
    sign; ``words`` is left holding just that sign's bit."""
    j = words.view(i32)
    y = s
    np.bitwise_and(j, 0xFFFFFF, j)
    np.copyto(x, j, "unsafe")
    np.multiply(x, _ANGLE, x)
    # octant, rounded up to even; then x = angle - octant * pi/4
    np.multiply(x, _FOUR_OVER_PI, y)
    np.copyto(j, y, "unsafe")
    np.add(j, 1, j)
    np.bitwise_and(j, -2, j)
    np.copyto(w64, j)
    np.multiply(w64, _PIO4, w64)
    np.copyto(x64, x)
    np.subtract(x64, w64, x64)
    np.copyto(x, x64, "same_kind")
    np.copyto(x64, x)
    z = x
    np.multiply(x, x, z)
    np.copyto(z64, z)
    # cosine: 1 - z/2 + z*z*(...)
    np.multiply(z64, _COS[0], w64)
    np.add(w64, _COS[1] + _COS_ROUND, w64)
    np.subtract(w64, _COS_ROUND, w64)
    np.multiply(w64, z64, w64)
    np.add(w64, _COS[2], w64)
    np.copyto(c, w64, "same_kind")
    np.multiply(c, z, c)
    np.copyto(w64, c)
    np.subtract(w64, 0.5, w64)  # (w - 1/2) * z has no rounding before the last
    np.multiply(w64, z64, w64)
    np.copyto(c, w64, "same_kind")
    np.add(c, f32(1), c)
    # sine: x + x*z*(...)
    np.multiply(z64, _SIN[0], w64)
    np.add(w64, _SIN[1] + _SIN_ROUND, w64)
    np.subtract(w64, _SIN_ROUND, w64)
    np.multiply(w64, z64, w64)
    np.add(w64, _SIN[2], w64)
    np.copyto(s, w64, "same_kind")
    np.multiply(s, z, s)
    np.copyto(w64, s)
    np.multiply(w64, x64, w64)
    np.add(w64, x64, w64)
    np.copyto(s, w64, "same_kind")
    # in octants 2 and 6 they swap places and the cosine turns negative ...
    c_bits, s_bits, sign = c.view(i32), s.view(i32), x.view(i32)
    swap, both = z64.view(i32).reshape(2, -1)
    np.left_shift(j, 30, sign)
    np.right_shift(sign, 31, swap)
    np.bitwise_xor(c_bits, s_bits, both)
    np.bitwise_and(both, swap, both)
    np.bitwise_xor(s_bits, both, s_bits)
    np.bitwise_xor(c_bits, both, c_bits)
    np.bitwise_xor(c_bits, sign, c_bits)
    # ... and in octants 4 and 6 both change sign
    np.bitwise_and(j, 4, j)
    np.left_shift(j, 29, j)
