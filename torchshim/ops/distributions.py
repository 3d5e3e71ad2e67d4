"""How samples of gamma and Dirichlet distributions change with their parameters (Figurnov et al., arXiv:1805.08498)."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .loops import fori_loop
from .registry import op

_TERMS = 400


def _gamma_grad(alpha, sample):
    """d sample / d alpha at a fixed quantile: minus the derivative of the cdf by alpha over the density."""
    return jax.lax.random_gamma_grad(alpha, sample)


def _log_series(a, b, x):
    """The logarithm of sum of (a + b)_n / (a + 1)_n x**n: the incomplete beta function is x**a (1 - x)**b / (a B(a, b)) times it."""
    def more(n, state):
        term, total = state
        term = term * (a + b + n) / (a + 1 + n) * x
        return term, total + term
    one = jnp.ones_like(x)
    return jnp.log(fori_loop(0, _TERMS, more, (one, one))[1])


def _log_cdf(a, b, x):
    lgamma = jax.lax.lgamma
    return a * jnp.log(x) + b * jnp.log1p(-x) - lgamma(a + 1) - lgamma(b) + lgamma(a + b) + _log_series(a, b, x)


def _beta_grad(x, a, b):
    """Minus the derivative of Beta(a, b)'s cdf at x by a, over its density: the series from the end that x is nearer to."""
    low = x <= (a + 1) / (a + b + 2)
    safe = lambda take, y: jnp.where(take, y, 0.5)
    below, above = safe(low, x), safe(~low, 1 - x)
    lgamma = jax.lax.lgamma
    log_density = (a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x) - lgamma(a) - lgamma(b) + lgamma(a + b)
    value, slope = jax.jvp(lambda t: _log_cdf(t, b, below), (a,), (jnp.ones_like(a),))
    value2, slope2 = jax.jvp(lambda t: _log_cdf(b, t, above), (a,), (jnp.ones_like(a),))
    return jnp.where(low, -slope * jnp.exp(value - log_density), slope2 * jnp.exp(value2 - log_density))


def _dirichlet_grads(x, alpha, total):
    d = jnp.float64
    x, alpha, total = jnp.broadcast_arrays(x, alpha, total)
    wide = x.astype(d), alpha.astype(d), total.astype(d)
    return (_beta_grad(wide[0], wide[1], wide[2] - wide[1]) / (1 - wide[0])).astype(x.dtype)


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
