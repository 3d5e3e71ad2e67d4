"""Laplace."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import batch_of, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Density exp(-|x - loc| / scale) / (2 scale)."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = "loc", "scale"

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_of(self.loc, loc, scale), validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2 ** 0.5 * self.scale

    def rsample(self, sample_shape=torch.Size()):
        u = self.loc.new(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value):
        self._check_value(value)
        return -torch.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._check_value(value)
        x = value - self.loc
        return 0.5 - 0.5 * x.sign() * torch.expm1(-x.abs() / self.scale)

    def icdf(self, value):
        x = value - 0.5
        return self.loc - self.scale * x.sign() * torch.log1p(-2 * x.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)
