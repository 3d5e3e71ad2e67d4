"""Relaxed Bernoulli: the binary concrete distribution (Maddison et al., arXiv:1611.00712; Jang et al., arXiv:1611.01144)."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import ProbsOrLogits, batch_of, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class OfRelaxed:
    """What relaxed distributions take from the one whose events they transform."""

    @property
    def temperature(self):
        """The lower, the closer events are to the ends."""
        return self.base_dist.temperature

    @property
    def logits(self):
        """Log-odds, or logarithms of probabilities."""
        return self.base_dist.logits

    @property
    def probs(self):
        """Probabilities."""
        return self.base_dist.probs


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log-odds of a relaxed Bernoulli."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _tensors, _kept = ("probs", "logits", "_param"), ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(batch_of(self._param, logits if probs is None else probs), validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype, device=p.device))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        x = logits - value.mul(self.temperature)
        return self.temperature.log() + x - 2 * x.exp().log1p()


class RelaxedBernoulli(OfRelaxed, TransformedDistribution):
    """Numbers between 0 and 1, near these for low temperatures, with gradients."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _own = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)
