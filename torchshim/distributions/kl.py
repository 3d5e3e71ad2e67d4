"""Kullback-Leibler divergences: KL(p || q) is minus p's entropy less the expectation of q's log density under p."""
from __future__ import annotations

import math

import torchshim as torch

from ..engine import warn
from ..nn.functional import softplus
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution        # noqa: F401  (torch has it here too)
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]
_KL_REGISTRY: dict = {}
_KL_MEMOIZE: dict = {}


def register_kl(type_p, type_q):
    """A decorator: f(p, q) computes the divergence of these classes and, where there is nothing closer, of their subclasses."""
    for name, t in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(t, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {t}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return decorator


def _dispatch_kl(type_p, type_q):
    """The function registered for the closest classes; a warning where p and q disagree about what is closest."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    far_p, far_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(matches, key=lambda m: (far_p(m[0]), far_q(m[1])))
    by_q = min(matches, key=lambda m: (far_q(m[1]), far_p(m[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
             RuntimeWarning)
    return _KL_REGISTRY[by_p]


def kl_divergence(p, q):
    """The divergence of p from q, one number for each of the batch."""
    key = type(p), type(q)
    fun = _KL_MEMOIZE.get(key)
    if fun is None:
        fun = _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if fun is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return fun(p, q)


# -- of the same kind ---------------------------------------------------------------------------------------------------------
def _where(condition, x, otherwise):
    return torch.where(condition, torch.full_like(otherwise, x), otherwise)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = _where(p.probs == 0, 0.0, _where(q.probs == 0, math.inf, ones))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return ones + _where(p.probs == 1, 0.0, _where(q.probs == 1, math.inf, zeros))


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return _where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    return _where(p.probs == 0, 0.0, _where(q.probs == 0, math.inf, terms)).sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    normalizers = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normalizer, from q's natural parameters to p's."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot                             be "
                                  "computed using Bregman divergences")
    params = [x.detach().requires_grad_() for x in p._natural_params]
    normalizer = p._log_normalizer(*params)
    means = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, m in zip(params, q._natural_params, means):
        result = result - _sum_rightmost((b - a) * m, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a) + (a - b) * torch.digamma(a)
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return apart / q.scale + ratio * torch.exp(-apart / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _where(p.scale < q.scale, math.inf, kl)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    return _where((q.low > p.low) | (q.high < p.high), math.inf, ((q.high - q.low) / (p.high - p.low)).log())


# -- multivariate normal ------------------------------------------------------------------------------------------------------
def _squares(matrix):
    return matrix.pow(2).sum((-2, -1))


def _log_det(d):
    """Of the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(*d._low_rank, d._capacitance_tril)
    return 2 * d._half_log_det()


def _distance(q, x):
    """x^T C^-1 x for q's covariance C."""
    if isinstance(q, LowRankMultivariateNormal):
        return _batch_lowrank_mahalanobis(*q._low_rank, x, q._capacitance_tril)
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, x)


def _trace(p, q):
    """The trace of q's covariance's inverse times p's, by factors of p's: its columns' distances."""
    if isinstance(p, LowRankMultivariateNormal):
        factors = [p._low_rank[0], torch.diag_embed(p._low_rank[1].sqrt())]
    else:
        factors = [p._unbroadcasted_scale_tril]
    total = 0
    for F in factors:
        if isinstance(q, LowRankMultivariateNormal):
            W, D = q._low_rank
            A = torch.linalg.solve_triangular(q._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
            total = total + _squares(F * D.rsqrt().unsqueeze(-1)) - _squares(A.matmul(F))
        else:
            L = q._unbroadcasted_scale_tril
            batch = torch.broadcast_shapes(L.shape[:-2], F.shape[:-2])
            total = total + _squares(torch.linalg.solve_triangular(L.expand(batch + L.shape[-2:]), F.expand(batch + F.shape[-2:]),
                                                                   upper=False))
    return total


def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = "Low Rank Multivariate" if all(low) else "(Low Rank) Multivariate" if any(low) else "Multivariate"
        raise ValueError(f"KL-divergence between two {kind} Normals with                          different event shapes cannot be "
                         "computed")
    return 0.5 * (_log_det(q) - _log_det(p) + _trace(p, q) + _distance(q, q.loc - p.loc) - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_multivariate_normal)


# -- of different kinds: from expectations under p of what stands in q's log density ------------------------------------------
def _x_log_x(x):
    return torch.xlogy(x, x)


def _mean_log_between(low, high):
    """The mean of log x for x uniform in [low, high]."""
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


def _mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_log_between(p.low, p.high)


def _mean_exp(p, q):
    """E[exp(-(x - loc) / scale)] for q's loc and scale."""
    s, at = q.scale, q.loc / q.scale
    if isinstance(p, Exponential):
        return torch.exp(at) * (p.rate * s) / (p.rate * s + 1)
    if isinstance(p, Gamma):
        return torch.exp(at) * (1 + (p.rate * s).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return torch.exp(at - p.loc / s + 0.5 * (p.scale / s).pow(2))
    if isinstance(p, Gumbel):
        return torch.exp(at - p.loc / s + (1 + p.scale / s).lgamma())
    return s / (p.high - p.low) * (torch.exp(at - p.low / s) - torch.exp(at - p.high / s))


def _mean_distance(p, at):
    """E|x - at| of a normal x."""
    apart = p.loc - at
    z = apart / p.scale
    return math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2)) + apart * torch.erf(math.sqrt(0.5) * z)


def _log_density(p, q):
    """The expectation under p of q's log density."""
    if isinstance(q, Exponential):
        return q.rate.log() - q.rate * p.mean
    if isinstance(q, Gamma):
        return q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean
    if isinstance(q, Normal):
        spread = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
        return -q.scale.log() - 0.5 * (math.log(2 * math.pi) + spread)
    if isinstance(q, Gumbel):
        return -q.scale.log() - (p.mean - q.loc) / q.scale - _mean_exp(p, q)
    if isinstance(q, Laplace):
        return -(2 * q.scale).log() - _mean_distance(p, q.loc) / q.scale
    if isinstance(q, Uniform):
        return -(q.high - q.low).log()
    if isinstance(q, ContinuousBernoulli):
        return p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()
    if isinstance(q, Pareto):
        return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    if isinstance(q, Poisson):
        return p.probs * q.rate.log() - q.rate
    a, b = q.concentration1, q.concentration0              # a Beta, of a uniform x
    return ((a - 1) * _mean_log_between(p.low, p.high) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
            + (a + b).lgamma() - a.lgamma() - b.lgamma())


def _outside(p, q):
    """Where p has events, or none of the moments, that q needs; None: nowhere."""
    if isinstance(p, Pareto):
        return p.alpha <= (2 if isinstance(q, Normal) else 1)
    if isinstance(q, Uniform):
        return (q.low > 0) | (q.high < 1) if isinstance(p, Beta) else (q.low >= 0) | (q.high <= 1)
    if isinstance(p, Uniform):
        if isinstance(q, Beta):
            return (p.high > 1) | (p.low < 0)
        if isinstance(q, ContinuousBernoulli):
            return (p.high >= 1) | (p.low <= 0)
        if isinstance(q, (Exponential, Gamma)):
            return p.low < 0
        if isinstance(q, Pareto):
            return p.low < q.scale
    return None


def _cross(p, q):
    kl = -p.entropy() - _log_density(p, q)
    outside = _outside(p, q)
    return kl if outside is None else _where(outside, math.inf, kl)


def _infinite(p, q):
    return torch.full_like(p.mean, math.inf)


_CROSS = {Bernoulli: [Poisson], Beta: [ContinuousBernoulli, Exponential, Gamma, Normal, Uniform],
          ContinuousBernoulli: [ContinuousBernoulli, Exponential, Normal, Uniform],
          Exponential: [Gamma, Gumbel, Normal], Gamma: [Exponential, Gumbel, Normal],
          Gumbel: [Normal, Gumbel], Laplace: [Normal], Normal: [Gumbel, Laplace], Pareto: [Exponential, Gamma, Normal],
          Uniform: [Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto]}
_OUTSIDE = {Beta: [Pareto], ContinuousBernoulli: [Pareto], Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
            Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform], Pareto: [Beta, ContinuousBernoulli, Uniform],
            Poisson: [Bernoulli, Binomial],
            **dict.fromkeys((Gumbel, Laplace, Normal), [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform])}
for _table, _fun in ((_CROSS, _cross), (_OUTSIDE, _infinite)):
    for _p, _qs in _table.items():
        for _q in _qs:
            register_kl(_p, _q)(_fun)
