"""Mixtures of distributions of one kind."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A component, the last batch dimension of component_distribution, chosen by a Categorical, and an event of it."""
    arg_constraints = {}
    has_rsample = False
    _tensors = ()

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        outer, inner = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(a != 1 and b != 1 and a != b for a, b in zip(reversed(outer), reversed(inner))):
            raise ValueError(f"`mixture_distribution.batch_shape` ({outer}) is not compatible with `component_distribution.batch_shape`"
                             f"({inner})")
        chosen, there = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if chosen != there:
            raise ValueError(f"`mixture_distribution component` ({chosen}) does not equal `component_distribution.batch_shape[-1]` "
                             f"({there})")
        self._num_component = chosen
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch_shape=inner, event_shape=component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = torch.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The Categorical."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _weighted(self, x):
        """The sum over components of probabilities times x."""
        probs = self._mixture_distribution.probs
        missing = len(self.batch_shape) - len(self._mixture_distribution.batch_shape)
        missing = 0 if len(self._mixture_distribution.batch_shape) == 1 else missing
        probs = probs.reshape(probs.shape[:-1] + (1,) * missing + probs.shape[-1:] + (1,) * self._event_ndims)
        return torch.sum(probs * x, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._weighted(self._component_distribution.mean)

    @property
    def variance(self):
        component = self._component_distribution
        return self._weighted(component.variance) + self._weighted((component.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x):
        return torch.sum(self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        self._check_value(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(log_prob + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            sample_shape = torch.Size(sample_shape)
            at = len(sample_shape) + len(self.batch_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            events = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            chosen = chosen.expand(chosen.shape[:at + 1] + self.event_shape)
            return torch.gather(events, at, chosen).squeeze(at)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
