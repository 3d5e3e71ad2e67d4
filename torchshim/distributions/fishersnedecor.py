"""Fisher and Snedecor's F."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import batch_of, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom."""
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _tensors, _parts = ("df1", "df2"), ("_gamma1", "_gamma2")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(batch_of(self.df1, df1, df2), validate_args=validate_args)

    @property
    def mean(self):
        n = torch.where(self.df2 <= 2, torch.nan, self.df2)
        return n / (n - 2)

    @property
    def mode(self):
        return torch.where(self.df1 <= 2, torch.nan, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2))

    @property
    def variance(self):
        n = torch.where(self.df2 <= 4, torch.nan, self.df2)
        return 2 * n.pow(2) * (self.df1 + n - 2) / (self.df1 * (n - 2).pow(2) * (n - 4))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        above, below = self._gamma1.rsample(sample_shape).view(shape), self._gamma2.rsample(sample_shape).view(shape)
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._check_value(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return ((a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log() + (a - 1) * torch.log(value)
                - (a + b) * torch.log1p(ratio * value))
