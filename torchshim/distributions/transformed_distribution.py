"""Transformed distributions."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What transforms, the first first, make of a base distribution's events. A subclass with arguments of its own names those of
    its tensors that are not the base's (`_own`)."""
    arg_constraints = {}
    _own = ()

    def __init__(self, base_distribution, transforms, validate_args=None):
        if not isinstance(transforms, (Transform, list)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        base, transform = base_distribution, ComposeTransform(self.transforms)
        domain, codomain = transform.domain.event_dim, transform.codomain.event_dim
        event_dim = len(base.event_shape)
        shape = base.batch_shape + base.event_shape
        if len(shape) < domain:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain}, but got {torch.Size(shape)}.")
        result = transform.forward_shape(shape)
        wanted = transform.inverse_shape(result)
        if shape != wanted:                            # the transforms' parameters broadcast the base
            base = base.expand(wanted[:len(wanted) - event_dim])
        if domain > event_dim:
            base = Independent(base, domain - event_dim)
        self.base_dist = base
        cut = len(result) - max(codomain, event_dim + codomain - domain)
        if cut < 0:
            raise AssertionError(f"forward_shape length {len(result)} must be >= event_dim {len(result) - cut}")
        super().__init__(torch.Size(result[:cut]), torch.Size(result[cut:]), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        owner = next(c for c in type(self).__mro__ if "_own" in vars(c))
        new = self._get_checked_instance(owner, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in owner._own:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = torch.Size(t.inverse_shape(shape))
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _forward(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        event_dim, log_prob, y = len(self.event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(t.log_abs_det_jacobian(x, y), event_dim - t.domain.event_dim)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """1 - value where the transforms together turn the order around."""
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))
