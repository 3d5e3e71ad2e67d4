"""Bernoulli."""
from __future__ import annotations

import torchshim as torch

from ..nn.functional import binary_cross_entropy_with_logits as cross_entropy
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ProbsOrLogits, batch_of, broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability probs, or with log-odds logits; else 0."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _tensors = "probs", "logits", "_param"

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(batch_of(self._param, logits if probs is None else probs), validate_args=validate_args)

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return torch.where(self.probs == 0.5, torch.nan, (self.probs >= 0.5).to(self.probs))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -cross_entropy(logits, value, reduction="none")

    def entropy(self):
        return cross_entropy(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._counted()(2, expand)

    @property
    def _natural_params(self):
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x):
        return torch.log1p(torch.exp(x))
