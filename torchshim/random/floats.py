"""Float arithmetic with the exact bits of PyTorch's CPU random kernels.

Those kernels use fused multiply-adds and the C library's functions, so ordinary
numpy arithmetic is off by one unit in the last place here and there.  What
follows gets every bit right with numpy and the standard library:

* a float32 fused multiply-add is done in float64, where the product is exact
  and only the sum can round; the double rounding matters solely when the
  float64 sum looks like a float32 midpoint, and those rare elements are redone;
* double-precision transcendentals go through :mod:`math`, that is, the C
  library, because numpy's vectorised ones differ from it now and then.
"""

import cmath
import math

import numpy as np

f32, f64, i64 = np.float32, np.float64, np.int64

TWO_PI = 2.0 * math.pi
_TINY32 = 2.0**-126
_FEW = 32  # up to here Python floats are quicker than arrays
_SLACK = 64  # float64 units in the last place; numpy's functions err by less than 4


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
        if a.size <= _FEW:
            b, c = float(b), float(c)
            values = [fma_scalar(v, b, c) for v in a.ravel().tolist()]
            return np.array(values, f64).reshape(a.shape)
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
        out.flat[k] = _fma_rational(a.item(k), b.item(k), c.item(k))
    return out


def fma_scalar(a, b, c):
    """``a * b + c`` of three Python floats, rounded once."""
    high = a * b
    if c == 0.0 or b == 1.0 or high == 0.0 and (a == 0.0 or b == 0.0):
        return high + c
    if not 1e-250 < abs(high) < 1e250 or not 1e-250 < abs(c) < 1e250 or (
            not 1e-250 < abs(a) < 1e250 or abs(b) > 1e250):
        return _fma_rational(a, b, c)
    (ah, al), (bh, bl) = _split(a), _split(b)
    low = ((ah * bh - high) + ah * bl + al * bh) + al * bl
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    rest, error = _two_sum(t_low, v_low)
    if error and not int(math.ldexp(math.frexp(rest)[0], 53)) & 1:
        rest = math.nextafter(rest, math.copysign(math.inf, error))
    return v_high + rest


def _fma_rational(a, b, c):
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    from fractions import Fraction             # rarely needed, and slow to import
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


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

