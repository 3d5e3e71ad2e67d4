"""Continuous Bernoulli (Loaiza-Ganem & Cunningham, arXiv:1907.06845)."""
from __future__ import annotations

import math

import torchshim as torch

from ..nn.functional import binary_cross_entropy_with_logits as cross_entropy
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ProbsOrLogits, batch_of, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """x in [0, 1] with density proportional to p**x (1 - p)**(1 - x). lims: between them Taylor series are used."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    _tensors, _kept = ("probs", "logits", "_param"), ("_lims",)

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(batch_of(self._param, logits if probs is None else probs), validate_args=validate_args)

    @lazy_property
    def probs(self):
        """The parameter p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        return torch.where(self._stable(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _cont_bern_log_norm(self):
        p, middle = self._cut_probs(), (self.probs - 0.5).pow(2)
        low, high = torch.where(p <= 0.5, p, 0.0), torch.where(p >= 0.5, p, 1.0)
        exact = (torch.log1p(-p) - p.log()).abs().log() - torch.where(p <= 0.5, torch.log1p(-2.0 * low), torch.log(2.0 * high - 1.0))
        return torch.where(self._stable(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * middle) * middle)

    @property
    def mean(self):
        p, x = self._cut_probs(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - p.log())
        return torch.where(self._stable(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self):
        p, x = self._cut_probs(), (self.probs - 0.5).pow(2)
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (torch.log1p(-p) - p.log()).pow(2)
        return torch.where(self._stable(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -cross_entropy(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value):
        self._check_value(value)
        p = self._cut_probs()
        exact = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._stable(), exact, value)
        return torch.where(value <= 0.0, 0.0, torch.where(value >= 1.0, 1.0, inside))

    def icdf(self, value):
        p = self._cut_probs()
        miss = torch.log1p(-p)
        return torch.where(self._stable(), (torch.log1p(-p + value * (2.0 * p - 1.0)) - miss) / (p.log() - miss), value)

    def entropy(self):
        miss = torch.log1p(-self.probs)
        return self.mean * (miss - self.probs.log()) - self._cont_bern_log_norm() - miss

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        stable = (x <= low) | (x > high)
        cut = torch.where(stable, x, low * torch.ones_like(x))
        exact = cut.expm1().abs().log() - cut.abs().log()
        return torch.where(stable, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
