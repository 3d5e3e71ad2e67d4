"""Binomial."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """The number of successes in total_count trials."""
    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True
    _tensors = "total_count", "probs", "logits", "_param"

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self.total_count, = self._take(probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check_value(value)
        n, x = self.total_count, self.logits
        above_zero = (x.clamp(min=0) + x - x.clamp(max=0)) / 2     # whose gradient at 0 is a half
        choices = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        return value * x + choices - n * above_zero - n * torch.log1p(torch.exp(-x.abs()))

    def entropy(self):
        log_prob = self.log_prob(self._support("entropy", False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._support("enumerate_support", expand)

    def _support(self, what, expand):
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return self._counted()(1 + n, expand)
