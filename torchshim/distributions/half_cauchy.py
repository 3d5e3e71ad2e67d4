"""Half-Cauchy."""
from __future__ import annotations

import math

import torchshim as torch

from .cauchy import Cauchy
from .half_normal import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """|x| of a Cauchy x around 0."""
    _base = Cauchy

    @property
    def mean(self):
        return self.base_dist._constant(math.inf)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        self._check_value(value)
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
