"""How samples of gamma and Dirichlet distributions change with their parameters (Figurnov et al., arXiv:1805.08498).

A sample moves with a parameter as its quantile does: minus the derivative of the cdf by the parameter, over the density. torch approximates
that (up to a few hundredths off where a sample is far out), and these are its approximations, in float64: a series for small samples,
the saddle point expansion (Rice, 1980) for large parameters, and between them fitted quotients of polynomials in logarithms.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .registry import op
from .unary import digamma_of

_D = jnp.float64

# log of a gamma sample's derivative = P / Q, polynomials in log alpha (4 coefficients each) whose coefficients are
# polynomials in log(sample / alpha) (3 rows).
_GAMMA = ((((0.16009398, -0.094634809, 0.025146376, -0.0030648343), (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
            (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777))),
          (((1, 0.32668115, 0.10406089, 0.0014179084), (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
            (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07))))
# A beta sample's derivative over a first guess = P / Q, polynomials in log x (3 blocks), log(alpha / x) (3 rows) and
# log(total) - log(alpha / x) (4 coefficients).
_BETA = ((((1.003668233, -0.01061107488, -0.0657888334, 0.01201642863), (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
           (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013)),
          ((0.221950385, -0.3187676331, 0.01799915743, 0.01074823814), (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
           (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05)),
          ((-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565), (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
           (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05))),
         (((1, -0.02924021934, -0.04438342661, 0.007285809825), (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
           (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149)),
          ((0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273), (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
           (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05)),
          ((0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05), (0.001925008108, -0.002869809258, 0.0008000589141,
                                                                             -6.063713228e-05),
           (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06))))


def _horner(coefficients, x):
    """The polynomial in x with these coefficients, the constant first."""
    *lower, total = coefficients
    for c in reversed(lower):
        total = c + x * total
    return total


def _fitted(table, *variables):
    """The polynomial of a nested table of coefficients, outermost variable first."""
    if len(variables) == 1:
        return _horner(table, variables[0])
    return _horner([_fitted(rows, *variables[1:]) for rows in table], variables[0])


def _known(x):
    return jnp.where(jnp.isnan(x), 0, x)


def _stirling(x):
    """The first terms of gamma(x) over Stirling's formula."""
    return 1 + 1 / (12 * x) * (1 + 1 / (24 * x))


def _gamma_small(alpha, x):
    """From the series of the lower incomplete gamma function."""
    term, first, second = 1.0, 1 / alpha, 1 / (alpha * alpha)
    for k in range(1, 6):
        term, below = term * -x / k, alpha + k
        first, second = first + term / below, second + term / (below * below)
    out = _known(x * jnp.exp(x) * (second - (jnp.log(x) - digamma_of(alpha)) * first))
    return jnp.where(x ** alpha == 0, 0, out)             # where torch's density underflows


def _gamma_large(alpha, x):
    """By the saddle point, with its limit where x is near alpha."""
    near = ((1 + 24 * alpha * (1 + 12 * alpha))
            * (1440 * alpha ** 2 + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x)) / (1244160 * alpha ** 4))
    width, ratio = jnp.sqrt(8 * alpha), jnp.log(x / alpha)
    bend = (x - alpha - alpha * ratio) ** -1.5
    slope = ratio * (width / (alpha - x) + jnp.where(x < alpha, -bend, bend))
    far = -_stirling(alpha) * x * (slope - jnp.sqrt(2 / alpha) * (alpha + x) / (alpha - x) ** 2) / width
    return jnp.where((0.9 * alpha <= x) & (x <= 1.1 * alpha), near, far)


def _gamma_grad(alpha, sample):
    """d sample / d alpha at a fixed quantile."""
    a, x = jnp.broadcast_arrays(alpha.astype(_D), sample.astype(_D))
    u, v = jnp.log(x / a), jnp.log(a)
    middle = jnp.exp(_fitted(_GAMMA[0], u, v) / _fitted(_GAMMA[1], u, v))
    return jnp.where(x < 0.8, _gamma_small(a, x), jnp.where(a > 8, _gamma_large(a, x), middle)).astype(sample.dtype)


def _beta_low(x, a, b):
    """d x / d a over 1 - x, for x near 0."""
    factor = digamma_of(a) - digamma_of(a + b) - jnp.log(x)
    term, total = 1.0, (factor + 1 / a) / a
    for k in range(1, 11):
        term, below = term * (k - b) * x / k, a + k
        total = total + term / below * (factor + 1 / below)
    return _known(x * (1 - x) ** -b * total)


def _beta_high(x, a, b):
    """d x / d b over 1 - x, for x near 0."""
    factor = digamma_of(a + b) - digamma_of(b)
    term, rising, slope, total = 1.0, 1.0, 0.0, factor / a
    for k in range(1, 9):
        term, slope = term * -x / k, slope * (b - k) + rising
        rising = rising * (b - k)
        total = total + term / (a + k) * (slope + factor * rising)
    return _known(-(1 - x) ** (1 - b) * total)


def _beta_large(x, a, b):
    """d x / d a over 1 - x by the saddle point, with its limit where x is near the mean."""
    n, y = a + b, 1 - x
    mean, spread = a / n, jnp.sqrt(a * b / (n + 1)) / n
    by_a = [47 * x * b ** 4, (43 + 20 * (16 + 27 * b) * x) * b ** 3, 3 * (59 + 180 * b - 90 * x) * b ** 2,
            (453 + 1620 * b * y - 455 * x) * b, 8 * y * (135 * b - 11)]
    near = (1 + 12 * a) * (1 + 12 * b) / n ** 2 / y * _horner(by_a, a) / (12960 * a ** 3 * b ** 2 * (1 + 12 * n))
    off = b * x - a * y
    first = (-2 * a * a * y - a * b * y - x * b * b) / (jnp.sqrt(2 * a / b) * n ** 1.5 * off * off)
    bend = (b * jnp.log(b / (n * y)) + a * jnp.log(a / (n * x))) ** -1.5
    second = 0.5 * jnp.log(a / (n * x)) * (jnp.sqrt(8 * a * b / n) / off + jnp.where(x < mean, bend, -bend))
    far = -_stirling(a) * _stirling(b) / _stirling(n) * x / jnp.sqrt(2 * a * b / n) * (first + second)
    return jnp.where((mean - 0.1 * spread <= x) & (x <= mean + 0.1 * spread), near, far)


def _dirichlet_grads(x, alpha, total):
    """d x / d alpha over 1 - x, for x ~ Beta(alpha, total - alpha)."""
    kind = x.dtype
    x, a, n = jnp.broadcast_arrays(x.astype(_D), alpha.astype(_D), total.astype(_D))
    b, edge = n - a, n * x * (1 - x)
    u, v = jnp.log(x), jnp.log(a) - jnp.log(x)
    w = jnp.log(n) - v
    middle = _fitted(_BETA[0], u, v, w) / _fitted(_BETA[1], u, v, w) * x * (digamma_of(n) - digamma_of(a)) / b
    out = jnp.where((a > 6) & (b > 6), _beta_large(x, a, b), middle)
    out = jnp.where((x >= 0.5) & (edge < 0.75), -_beta_high(1 - x, b, a), out)
    return jnp.where((x <= 0.5) & (edge < 2.5), _beta_low(x, a, b), out).astype(kind)


@op("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", method=False)
def _standard_gamma_grad(self, output):
    """The derivative of gamma samples `output` by their shape parameters `self`."""
    return _gamma_grad(self, output)


@op("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", method=False)
def _dirichlet_grad(x, alpha, total):
    """The derivative of x ~ Beta(alpha, total - alpha) by alpha, over 1 - x."""
    return _dirichlet_grads(x, alpha, total)


@jax.custom_jvp
def _of_gamma(alpha, sample):
    return sample


@_of_gamma.defjvp
def _of_gamma_jvp(primals, tangents):
    alpha, sample = primals
    return sample, _gamma_grad(alpha, sample) * tangents[0]


@op("_standard_gamma.drawn(Tensor self, Tensor sample) -> Tensor", grad="StandardGammaBackward0", function=False, method=False)
def drawn_gamma(self, sample):
    """Gamma samples that were drawn for the shape parameters self."""
    return _of_gamma(self, sample)


@jax.custom_jvp
def _of_dirichlet(alpha, sample):
    return sample


@_of_dirichlet.defjvp
def _of_dirichlet_jvp(primals, tangents):
    alpha, x = primals
    d = _dirichlet_grads(x, alpha, jnp.sum(alpha, -1, keepdims=True)) * tangents[0]
    return x, d - x * jnp.sum(d, -1, keepdims=True)


@op("_dirichlet.drawn(Tensor self, Tensor sample) -> Tensor", grad="_DirichletBackward", function=False, method=False)
def drawn_dirichlet(self, sample):
    """Dirichlet samples that were drawn for the concentrations self."""
    return _of_dirichlet(self, sample)
