"""Geometric."""
from __future__ import annotations

import torchshim as torch

from ..nn.functional import binary_cross_entropy_with_logits as cross_entropy
from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits, batch_of, broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """The number of failures before the first success."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _tensors = "probs", "logits", "_param"

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(batch_of(self._param, logits if probs is None else probs), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            bad = ~(value > 0)
            if bad.any():
                raise ValueError(f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                                 f"{self!r} to be positive but found invalid values:\n{value.data[bad]}")

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return torch.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            u = self.probs.new(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        miss = torch.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-miss).log1p() + self.probs.log()

    def entropy(self):
        return cross_entropy(self.logits, self.probs, reduction="none") / self.probs
