"""Dirichlet."""
from __future__ import annotations

import torchshim as torch

from ..nn.functional import one_hot
from ..ops.distributions import drawn_dirichlet
from ..tensor.api.bind import call
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x, concentration, grad_output):
    """The gradient of samples `x` by the concentration."""
    d = torch._dirichlet_grad(x, concentration, concentration.sum(-1, True).expand_as(concentration))
    return d * (grad_output - (x * grad_output).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """Points of the simplex; the concentrations are the last dimension."""
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _tensors = ("concentration",)

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()):
        alpha = self.concentration.expand(self._extended_shape(sample_shape))
        return call(drawn_dirichlet, (alpha, torch._sample_dirichlet(alpha.detach())))

    def log_prob(self, value):
        self._check_value(value)
        alpha = self.concentration
        return torch.xlogy(alpha - 1.0, value).sum(-1) + torch.lgamma(alpha.sum(-1)) - torch.lgamma(alpha).sum(-1)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1, keepdim=True)
        return torch.where(corner, one_hot(mode.argmax(dim=-1), above.shape[-1]).to(mode), mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        alpha, total = self.concentration, self.concentration.sum(-1)
        return (torch.lgamma(alpha).sum(-1) - torch.lgamma(total) - (alpha.size(-1) - total) * torch.digamma(total)
                - ((alpha - 1.0) * torch.digamma(alpha)).sum(-1))

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
