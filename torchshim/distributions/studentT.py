"""Student's t."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a chi-squared one with df degrees of freedom, scaled and moved."""
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors, _parts = ("df", "loc", "scale"), ("_chi2",)

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self):
        return torch.where(self.df <= 1, torch.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = self.df > 2
        safe = torch.where(finite, self.df, 3.0)
        heavy = torch.where(self.df > 1, torch.full_like(self.df, torch.inf), torch.nan)
        return torch.where(finite, self.scale.pow(2) * safe / (safe - 2), heavy)

    def rsample(self, sample_shape=torch.Size()):
        x = _standard_normal(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * x * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value):
        self._check_value(value)
        y, n = (value - self.loc) / self.scale, self.df
        normalizer = self.scale.log() + 0.5 * n.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * n) - torch.lgamma(0.5 * (n + 1.0))
        return -0.5 * (n + 1.0) * torch.log1p(y ** 2.0 / n) - normalizer

    def entropy(self):
        n = self.df
        log_beta = torch.lgamma(0.5 * n) + math.lgamma(0.5) - torch.lgamma(0.5 * (n + 1))
        return self.scale.log() + 0.5 * (n + 1) * (torch.digamma(0.5 * (n + 1)) - torch.digamma(0.5 * n)) + 0.5 * n.log() + log_beta
