"""Generalized Pareto."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import batch_of, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Exceedances over loc; `concentration` says how heavy the tail is, 0 makes it exponential."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _tensors = "loc", "scale", "concentration"

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(batch_of(self.loc, loc, scale, concentration), validate_args=validate_args)

    def _tail(self):
        """Whether the tail is exponential, and a concentration that can be divided by."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, 1.0, self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._check_value(value)
        z = self._z(value)
        zero, k = self._tail()
        y = 1 / k + torch.ones_like(z)
        return -self.scale.log() - torch.where(zero, z, torch.where(y == 0, y, y * torch.log1p(k * z)))

    def log_survival_function(self, value):
        """log(1 - cdf)."""
        self._check_value(value)
        z = self._z(value)
        zero, k = self._tail()
        return torch.where(zero, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value):
        """log(cdf)."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, k = self._tail()
        log_survival = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * log_survival, self.loc + self.scale / k * torch.expm1(-k * log_survival))

    @property
    def mean(self):
        finite = self.concentration < 1
        return torch.where(finite, self.loc + self.scale / (1 - torch.where(finite, self.concentration, 0.5)), torch.nan)

    @property
    def variance(self):
        finite = self.concentration < 0.5
        k = torch.where(finite, self.concentration, 0.25)
        return torch.where(finite, self.scale ** 2 / ((1 - k) ** 2 * (1 - 2 * k)), torch.nan)

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @property
    def mode(self):
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.loc, torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf))
