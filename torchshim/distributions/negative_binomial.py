"""Negative binomial."""
from __future__ import annotations

import torchshim as torch

from ..nn.functional import logsigmoid
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import ProbsOrLogits, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The number of successes, of probability probs, before total_count failures."""
    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _tensors = "total_count", "probs", "logits", "_param"

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self.total_count, = self._take(probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self):
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        n, x = self.total_count, self.logits
        choices = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        choices = choices.masked_fill(n + value == 0.0, 0.0)
        return n * logsigmoid(-x) + value * logsigmoid(x) - choices
