"""Special functions: Bessel, zeta, polygamma, incomplete gamma, normal distribution, orthogonal polynomials."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .common import special
from .layout import contiguous
from .loops import while_loop
from .casts import short
from .registry import T, op
from .unary import declare, lgamma, trigamma

SPECIAL = dict(namespace="special", method=False, inplace=False)
SPECIAL_BY_RESULT = dict(SPECIAL, saves=("self", "result"))       # torch's gradients go by both

def _i0(x):
    """Rounded once: in float32, i0(0) would be 1 in one tier and the number after it in the other."""
    return special.i0(x.astype(np.float64)).astype(x.dtype) if x.dtype == np.float32 else special.i0(x)


i0 = declare("i0", _i0, "The modified Bessel function of the first kind of order 0.", "I0", rule=(lambda out, x, half: short(special.i1(x), half),),
             refuses=("i0_vml_cpu", "c"))
declare("i0e", special.i0e, "exp(-|x|) * i0(x).", "SpecialI0E", refuses=("i0e_cpu", "c"), **SPECIAL_BY_RESULT,
        rule=(lambda out, x, half: short(short(special.i1e(x), half) - jnp.sign(x) * out, half),))


def _i1_slope(out, x):
    """Near 0 it is 1/2 and constant, as torch makes it."""
    tiny = jnp.abs(x) <= jnp.finfo(x.dtype).eps
    safe = jnp.where(tiny, 1, x)
    return jnp.where(tiny, 0.5, special.i0(safe) - out / safe)


declare("i1", special.i1, "The modified Bessel function of the first kind of order 1.", "SpecialI1",
        refuses=("i1_cpu", "c"), **SPECIAL_BY_RESULT,
        rule=(_i1_slope,))
declare("i1e", special.i1e, "exp(-|x|) * i1(x).", "SpecialI1E", refuses=("i1e_cpu", "c"), **SPECIAL_BY_RESULT)


@op("entr(Tensor self) -> Tensor", promote="float", grad="SpecialEntrBackward0", refuses=("entr_cpu", "c"), **SPECIAL,
    rule=(lambda out, x, half: -short(1 + short(jnp.log(x), half), half),), half_steps=True)
def entr(self, half=None):
    """-x * log(x), 0 at 0, -inf below."""
    return jnp.where(self > 0, -self * short(jnp.log(self), half), jnp.where(self < 0, -jnp.inf, jnp.abs(self) * 0))


declare("erfcx", special.erfcx, "exp(x ** 2) * erfc(x).", "SpecialErfcx", refuses=("erfcx_cpu", "hc"), **SPECIAL_BY_RESULT,
        rule=(lambda out, x: 2 * x * out - 2 / math.sqrt(math.pi),))


def _log_ndtr(x):
    """By erfcx on the left and erfc on the right: nothing cancels."""
    t = x * math.sqrt(0.5)                     # as torch: what cancels in the gradient does so by the last digit
    left = jnp.log(special.erfcx(-jnp.minimum(t, 1)) / 2) - jnp.minimum(t, 1) ** 2
    return jnp.where(x < 1, left, jnp.log1p(-jax.lax.erfc(t) / 2))


@op("ndtr(Tensor self) -> Tensor", promote="float", grad="MulBackward1", grad_back=lambda inst, needs: "MulBackward1",
    seen=lambda inst: {0: None}, refuses=("erf_vml_cpu", "c"), **SPECIAL, half_steps=True)
def ndtr(self, half=None):
    """The normal distribution function, by erf: of large negative numbers it loses digits, as torch's."""
    return short(1 + short(jax.lax.erf(short(self * math.sqrt(0.5), half)), half), half) * 0.5


declare("log_ndtr", _log_ndtr, "The logarithm of ndtr.", "SpecialLogNdtr", refuses=("log_ndtr_cpu", "hc"), **SPECIAL_BY_RESULT,
        rule=(lambda out, x: jnp.exp(-(out + jnp.square(x) / 2)) / math.sqrt(2 * math.pi),))
declare("ndtri", special.ndtri, "The inverse of ndtr.", "SpecialNdtri", refuses=("ndtri_cpu", "hc"), **SPECIAL, twice="zeros",
        grad_back="Div",
        rule=(lambda out, x: math.sqrt(2 * math.pi) * jnp.exp(jnp.square(out) / 2),))


def plain(name, f, doc, operand="self"):
    """A function that torch does not differentiate; `operand`: what torch calls its argument."""
    def body(x):
        return f(x)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor {operand}) -> Tensor", promote="float", numbers=(), refuses=(name + "_cpu", "hc"), namespace="special",
              method=False)(body)


plain("modified_bessel_i0", _i0, "The modified Bessel function of the first kind of order 0.")
plain("modified_bessel_i1", special.i1, "The modified Bessel function of the first kind of order 1.")
plain("spherical_bessel_j0", lambda x: jnp.where(x == 0, 1, jnp.where(jnp.isinf(x), 0, jnp.sin(x) / jnp.where(x == 0, 1, x))),
      "sin(x) / x.", "x")


def _numbered(name):
    def grad(inst):
        return f"{name}Backward{1 if inst.layout[0] is not T else 0 if inst.layout[1] is T else 2}"
    return grad


@op("xlog1py(Tensor self, Tensor other) -> Tensor", promote="float", scalar_left=True, namespace="special", method=False,
    grad=_numbered("SpecialXlog1Py"), refuses=("xlog1py_cpu", "c"), twice="compares self",
    rule=(lambda out, x, y: jnp.where((x == 0) & (y <= -1), 0, jnp.log1p(y)), lambda out, x, y: x / (y + 1)),
    pullback=lambda g, x, y, half: (jnp.where((x == 0) & (y <= -1), 0, _xlog1py(g, y, half)), short(g * x, half) / short(y + 1, half)),
    half_steps=True)
def xlog1py(self, other, half=None):
    """self * log1p(other), 0 where self is 0."""
    return jnp.where(jnp.isnan(other), other, jnp.where(self == 0, 0, self * short(jnp.log1p(other), half)))


def _xlog1py(self, other, half):
    return (xlog1py.core if half is None else functools.partial(xlog1py.body, half=half))(self, other)


# -- zeta and polygamma ------------------------------------------------------------------------------------------------
@jax.custom_jvp
def hurwitz(s, q):
    """The sum of (k + q) ** -s: jax's zeta needs q > 0, so the terms before that are added one by one, of float32 numbers in float64, as
    they may cancel. Its derivative in s is not known."""
    if q.dtype == jnp.float32:
        return hurwitz(s.astype(jnp.float64), q.astype(jnp.float64)).astype(jnp.float32)
    low = lambda q: (q <= 0) & (q > -1e4) & (q != jnp.floor(q))

    def step(state):
        q, total = state
        now = low(q)
        return jnp.where(now, q + 1, q), jnp.where(now, total + jnp.power(jnp.where(now, q, 1), -s), total)
    end, total = while_loop(lambda state: low(state[0]).any(), step, (q, jnp.zeros_like(q)))
    fits = (end > 0) & ~jnp.isinf(end) & ~jnp.isinf(s)
    tail = special.zeta(jnp.where(fits, s, 2), jnp.where(fits, end, 1))
    tail = jnp.where(end == jnp.inf, jnp.nan, jnp.where(s == jnp.inf, jnp.where(q < 1, jnp.inf, jnp.where(q == 1, 1, jnp.nan)), tail))
    poles = (s == 1) | ~(s < 1) & (q <= 0) & (q == jnp.floor(q))              # there even for nan in the other
    return jnp.where(poles, jnp.inf, jnp.where((s < 1) | jnp.isnan(s) | jnp.isnan(q), jnp.nan, total + tail))


hurwitz.defjvps(None, lambda q_dot, out, s, q: -s * hurwitz(s + 1, q) * q_dot)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def polygamma_of(n, x):
    """The n-th derivative of digamma, for n >= 1."""
    return trigamma(x) if n == 1 else (1 if n % 2 else -1) * math.factorial(n) * hurwitz(jnp.full_like(x, n + 1), x)


@polygamma_of.defjvp
def _polygamma_jvp(n, primals, tangents):
    return polygamma_of(n, *primals), tangents[0] * polygamma_of(n + 1, *primals)


def check_polygamma(n, self):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if P.kind_of(self.dtype) == 3:
        kernel = ("digamma", "trigamma")[n] if n < 2 else "polygamma"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(self.dtype)}'")


@op("polygamma.op(int n, Tensor self) -> Tensor", promote="float", grad="PolygammaBackward0", inplace=True,
    inplace_grad="PolygammaBackward1", check=check_polygamma)
def polygamma(n, self):
    """The n-th derivative of digamma."""
    from .unary import digamma
    return polygamma_of(n, self) if n else digamma.core(self)


def _no_slope(of):
    """back_refuses where torch has no derivative in the first operand, which it calls `of`."""
    def refuses(inst, needs):
        return NotImplementedError(f"the derivative for '{of}' is not implemented.") if inst.layout[0] is T and 0 in needs else None
    return refuses


@op("zeta(Tensor self, Tensor other) -> Tensor", promote="float", scalar_left=True, namespace="special", method=False,
    grad=_numbered("SpecialZeta"), refuses=("zeta_cpu", "hc"), pushes=False, back_refuses=_no_slope("zeta"),
    rule=(lambda out, s, q: jnp.full_like(out, jnp.nan), lambda out, s, q: -s * hurwitz(*jnp.broadcast_arrays(s + 1, q))))
def zeta(self, other):
    """Hurwitz' zeta function: the sum of (k + other) ** -self."""
    return hurwitz(*jnp.broadcast_arrays(self, other))


def check_mvlgamma(self, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype == np.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")


@op("mvlgamma(Tensor self, int p) -> Tensor", promote="float", grad="MvlgammaBackward0", inplace="method", check=check_mvlgamma,
    refuses=("arange_cpu", "c"), strides=contiguous, half_steps=True)
def mvlgamma(self, p, half=None):
    """The logarithm of the multivariate gamma function of dimension p."""
    def rounded(a):
        return a if half is None else a.astype(half).astype(a.dtype)
    steps = jnp.arange(1 - p, 1, dtype=self.dtype) / 2
    total = jnp.sum(rounded(lgamma.core(rounded(self[..., None] + steps))), -1)
    return rounded(total) + p * (p - 1) / 4 * math.log(math.pi)


def _at_the_ends(a, x, f, upper):
    """f(a, x) with torch's limits for a = 0 and a = inf. In float64: in float32 the powers of a large `a` would lose a thousandth."""
    if a.dtype == jnp.float32:
        return _at_the_ends(a.astype(jnp.float64), x.astype(jnp.float64), f, upper).astype(jnp.float32)
    usual, large = (a > 0) & ~jnp.isinf(a), (a > 1e8) & ~jnp.isinf(a) & (x >= 0)
    low, high = (1, 0) if upper else (0, 1)                     # where the distribution has not begun, and where it has ended
    ends = jnp.where(a == 0, jnp.where(x > 0, high, jnp.nan), jnp.where(jnp.isinf(x) | (x < 0), jnp.nan, low))
    found = jnp.where(large, _uniform(jnp.where(large, a, 1), x, upper), f(jnp.where(usual & ~large, a, 1), jnp.where(large, 1, x)))
    told = jnp.where(x == 0, low, jnp.where(x == jnp.inf, high, jnp.nan))       # there torch does not ask for `a`
    return jnp.where(usual, found, jnp.where(jnp.isnan(a), told, jnp.where(a < 0, jnp.nan, ends)))


def _uniform(a, x, upper):
    """The incomplete gamma functions of a large `a` by the uniform expansion (DLMF 8.12.3, its first coefficient): the series that others
    are computed by would take as many terms as the root of `a`."""
    mu = jnp.clip((x - a) / a, 1e-12 - 1, 1e3)                 # there the exponential has vanished long since
    near = jnp.abs(mu) < 1e-3
    small, far = jnp.where(near, mu, 0), jnp.where(near, 1, mu)
    half = jnp.where(near, small * small * (0.5 - small * (1 / 3 - small * (0.25 - small * 0.2))), far - jnp.log1p(far))
    eta = jnp.sign(mu) * jnp.sqrt(2 * half)
    rest = jnp.exp(-a * half) / jnp.sqrt(2 * math.pi * a) * (-1 / 3 + eta / 12 - 2 / 135 * eta ** 2 + eta ** 3 / 864)
    side = 1 if upper else -1
    return 0.5 * jax.lax.erfc(side * eta * jnp.sqrt(a / 2)) + side * rest


@op("igamma(Tensor self, Tensor other) -> Tensor", promote="arith", grad="IgammaBackward0", inplace="method", numbers=(),
    refuses=("igamma_cpu", "bic"), pushes=False, back_refuses=_no_slope("igamma: input"))
def igamma(self, other):
    """The regularized lower incomplete gamma function."""
    return _at_the_ends(self, other, special.gammainc, 0)


@op("igammac(Tensor self, Tensor other) -> Tensor", promote="arith", grad="IgammacBackward0", inplace="method", numbers=(),
    refuses=("igammac_cpu", "bic"), pushes=False, back_refuses=_no_slope("igammac: input"))
def igammac(self, other):
    """The regularized upper incomplete gamma function."""
    return _at_the_ends(self, other, special.gammaincc, 1)


# -- orthogonal polynomials --------------------------------------------------------------------------------------------
def polynomial(name, first, step, shifted=False, closed=None):
    """P_n(x), with n for each element, by the recurrence p_(k+1) = step(k, x, p_k, p_(k-1)); 0 for negative n and what is beyond an int64,
    NaN from the first on. `closed(n, x)` is the value for |x| <= 1, taken from degree 7 on as in torch."""
    def body(x, n):
        x = 2 * x - 1 if shifted else x
        n = jnp.where(jnp.abs(n) < 2.0 ** 63, jnp.trunc(n), -1)
        one = jnp.ones_like(x)
        known = (n > 6) & (jnp.abs(x) <= 1) if closed else jnp.zeros(x.shape, bool)
        degree = jnp.where(known, 0, n)

        def advance(state):
            k, p, before, found = state
            p, before = step(k, x, p, before), p
            return k + 1, p, before, jnp.where((n == k + 1) | (n > k) & jnp.isnan(p), p, found)
        start = (jnp.ones((), x.dtype), first(x), one, jnp.where(n < 0, 0, jnp.where(n == 0, one, first(x))))
        out = while_loop(lambda state: ((degree > state[0]) & ~jnp.isnan(state[1])).any(), advance, start)[3]
        return jnp.where(known, closed(n, x), out) if closed else out
    body.__name__, body.__doc__ = name, f"The polynomial {name.replace('_', ' ')} of degree n."
    return op(f"{name}(Tensor x, Tensor n) -> Tensor", promote="float", namespace="special", method=False, numbers=("x", "n"),
              scalar_left=True, refuses=(name + "_cpu", "hc"))(body)


def _chebyshev(k, x, p, before):
    return 2 * x * p - before


def _by_angle(inside, right, left):
    """A closed form in the angle of x, with its limits at 1 and at -1 (up to the sign of (-1) ** n)."""
    def closed(n, x):
        inner = jnp.where(jnp.abs(x) < 1, x, 0)
        sign = jnp.where(n % 2 == 0, 1, -1)
        return jnp.where(x == 1, right(n), jnp.where(x == -1, sign * left(n), inside(n, jnp.arccos(inner))))
    return closed


_KINDS = {
    "t": (lambda x: x, _by_angle(lambda n, a: jnp.cos(n * a), lambda n: 1, lambda n: 1)),
    "u": (lambda x: 2 * x, _by_angle(lambda n, a: jnp.sin((n + 1) * a) / jnp.sin(a), lambda n: n + 1, lambda n: n + 1)),
    "v": (lambda x: 2 * x - 1, _by_angle(lambda n, a: jnp.cos((n + .5) * a) / jnp.cos(a / 2), lambda n: 1, lambda n: 2 * n + 1)),
    "w": (lambda x: 2 * x + 1, _by_angle(lambda n, a: jnp.sin((n + .5) * a) / jnp.sin(a / 2), lambda n: 2 * n + 1, lambda n: 1))}
for _prefix, _shifted in (("", False), ("shifted_", True)):
    for _kind, (_first, _closed) in _KINDS.items():
        polynomial(f"{_prefix}chebyshev_polynomial_{_kind}", _first, _chebyshev, _shifted, _closed)
polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
polynomial("laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))
polynomial("legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
