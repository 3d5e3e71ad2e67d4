"""Cauchy."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import batch_of, broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The ratio of two normal numbers, scaled and moved."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = "loc", "scale"

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_of(self.loc, loc, scale), validate_args=validate_args)

    def _constant(self, x):
        return torch.full(self._extended_shape(), x, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self):
        return self._constant(math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._constant(math.inf)

    def rsample(self, sample_shape=torch.Size()):
        return self.loc + self.loc.new(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value):
        self._check_value(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        self._check_value(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
