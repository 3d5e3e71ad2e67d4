"""Von Mises: the normal distribution's like on the circle."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_bessel(bessel, x):
    """The logarithm of a modified Bessel function that is given times exp(-x)."""
    return bessel(x).log() + x


class VonMises(Distribution):
    """Angles around loc with density proportional to exp(concentration * cos(x - loc))."""
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _tensors = "loc", "concentration"

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        self._check_value(value)
        k = self.concentration
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(torch.special.i0e, k)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that is drawn from."""
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k ** 2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho))

    def sample(self, sample_shape=torch.Size()):
        """By rejection (Best & Fisher, 1979), in float64."""
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            loc, k, r = self.loc.double(), self.concentration.double(), self._proposal_r
            x, done = torch.zeros(shape, dtype=loc.dtype, device=loc.device), torch.zeros(shape, dtype=torch.bool, device=loc.device)
            while not done.all():
                u1, u2, u3 = torch.rand((3,) + shape, dtype=loc.dtype, device=loc.device).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        k = self.concentration
        return 1 - (_log_bessel(torch.special.i1e, k) - _log_bessel(torch.special.i0e, k)).exp()
