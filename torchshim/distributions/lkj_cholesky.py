"""LKJ: correlation matrices (Lewandowski, Kurowicka & Joe, 2009), as Cholesky factors."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of dim by dim correlation matrices with density proportional to det ** (concentration - 1)."""
    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _tensors, _parts, _kept = ("concentration",), ("_beta",), ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        k = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        k = torch.cat([k.new_zeros((1,)), k])
        self._beta = Beta(k + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * k)     # of the rows' lengths below
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)              # the onion method, row by row
            normal = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)
            w = torch.sqrt(y) * direction
            rest = torch.clamp(1 - torch.sum(w ** 2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
            return w + torch.diag_embed(rest)

    def log_prob(self, value):
        self._check_value(value)
        diagonal, n = value.diagonal(dim1=-1, dim2=-2)[..., 1:], self.dim
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - torch.arange(2, n + 1, device=self.concentration.device)
        alpha = self.concentration + 0.5 * (n - 1)
        normalizer = 0.5 * (n - 1) * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n - 1) - torch.lgamma(alpha) * (n - 1)
        return torch.sum(order * diagonal.log(), dim=-1) - normalizer
