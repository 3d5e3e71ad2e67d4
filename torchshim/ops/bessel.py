"""Bessel functions of orders 0 and 1, and Airy's Ai.

Each is a Chebyshev series of a smooth part on a few intervals (`bessel_series`): near 0 in x ** 2, with the logarithm taken out; far
out in 1 / x, with the exponential or the oscillation taken out (Abramowitz and Stegun, 9.1, 9.2, 9.6, 10.4). They are computed in
float64 whatever the dtype. torch has no gradients for them.
"""
from __future__ import annotations

import math

import jax.numpy as jnp

from . import bessel_series as series
from .common import special
from .registry import op

END = 12.0                       # where the series in x ** 2 hand over to the ones in 1 / x


def chebyshev(coefficients, u):
    """The series at u in [0, 1], by Clenshaw's recurrence."""
    t = 4 * u - 2
    b1 = b2 = jnp.zeros_like(u)
    for c in coefficients[:0:-1]:
        b1, b2 = t * b1 - b2 + c, b1
    return t / 2 * b1 - b2 + coefficients[0]


def near(name, x, end):
    """A series in x ** 2 up to `end`."""
    return chebyshev(getattr(series, name), jnp.minimum((x / end) ** 2, 1))


def oscillation(order, x):
    """(sqrt(2 / (pi x)) P, the same with Q, cos and sin of the phase) for x >= END."""
    x = jnp.maximum(x, END)
    z = (END / x) ** 2
    size = jnp.sqrt(2 / (math.pi * x))
    phase = x - (2 * order + 1) * math.pi / 4
    return (size * chebyshev(getattr(series, f"P{order}"), z), size * chebyshev(getattr(series, f"Q{order}"), z) / x, jnp.cos(phase),
            jnp.sin(phase))


def bessel_j(order, x):
    a = jnp.abs(x)
    p, q, cos, sin = oscillation(order, jnp.where(jnp.isinf(a), END, a))
    low = near(f"J{order}", a, END)
    out = jnp.where(a < END, low * a if order else low, p * cos - q * sin)
    out = jnp.where(jnp.isfinite(x), out, jnp.nan)
    return jnp.where(x < 0, -out, out) if order else out


def bessel_y(order, x):
    p, q, cos, sin = oscillation(order, jnp.where(jnp.isinf(x), END, x))
    safe = jnp.where(x > 0, x, 1)
    low, log = near(f"Y{order}", x, END), jnp.log(safe)
    if order:
        low = safe * low + 2 / math.pi * (log * bessel_j(1, safe) - 1 / safe)
    else:
        low = low + 2 / math.pi * log * bessel_j(0, safe)
    out = jnp.where(x < END, low, p * sin + q * cos)
    return jnp.where(~jnp.isfinite(x) | (x < 0), jnp.nan, jnp.where(x == 0, -jnp.inf, out))


def bessel_k(order, x, scaled):
    """K, times exp(x) if `scaled`."""
    safe = jnp.where(x > 0, x, 1)
    low = near(f"K{order}_SMALL", safe, 2.0)
    log = jnp.log(safe / 2)
    low = low / safe + log * special.i1(jnp.minimum(safe, 2)) if order else low - log * special.i0(jnp.minimum(safe, 2))
    low = low * jnp.exp(jnp.minimum(safe, 2)) if scaled else low
    far = jnp.maximum(safe, 2)
    high = chebyshev(getattr(series, f"K{order}_LARGE"), 2 / far) / jnp.sqrt(far)
    high = high if scaled else high * jnp.exp(-far)
    out = jnp.where(x <= 2, low, high)
    return jnp.where(jnp.isnan(x) | (x < 0), jnp.nan, jnp.where(x == 0, jnp.inf, out))


def airy(x):
    right, left = jnp.maximum(x, 2), jnp.maximum(-x, 6)
    zeta = lambda y: 2 / 3 * y * jnp.sqrt(y)
    z = zeta(right)
    decaying = jnp.exp(-z) / (2 * math.sqrt(math.pi) * jnp.sqrt(jnp.sqrt(right))) * chebyshev(series.AIRY_RIGHT, zeta(2.0) / z)
    z = zeta(left)
    w, phase = (zeta(6.0) / z) ** 2, z - math.pi / 4
    waves = (jnp.cos(phase) * chebyshev(series.AIRY_COS, w) + jnp.sin(phase) * chebyshev(series.AIRY_SIN, w) / z) / jnp.sqrt(
        math.pi * jnp.sqrt(left))
    out = jnp.where(x > 2, decaying, jnp.where(x < -6, waves, chebyshev(series.AIRY_MIDDLE, jnp.clip((x + 6) / 8, 0, 1))))
    return jnp.where(jnp.isinf(x), jnp.nan, jnp.where(x > 103.892, 0, jnp.where(jnp.isnan(x), x, out)))


def declare(name, f, doc, operand="self"):
    """`operand`: what torch calls it."""
    def body(x):
        return f(x.astype(jnp.float64)).astype(x.dtype)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor {operand}) -> Tensor", promote="float", numbers=(), refuses=(name + "_cpu", "hc"), namespace="special",
              method=False)(body)


declare("airy_ai", airy, "Airy's function Ai.", "x")
for _order in (0, 1):
    _says = f" of order {_order}."
    declare(f"bessel_j{_order}", lambda x, n=_order: bessel_j(n, x), "The Bessel function of the first kind" + _says)
    declare(f"bessel_y{_order}", lambda x, n=_order: bessel_y(n, x), "The Bessel function of the second kind" + _says)
    declare(f"modified_bessel_k{_order}", lambda x, n=_order: bessel_k(n, x, False),
            "The modified Bessel function of the second kind" + _says)
    declare(f"scaled_modified_bessel_k{_order}", lambda x, n=_order: bessel_k(n, x, True),
            "exp(x) times the modified Bessel function of the second kind" + _says, "x")
