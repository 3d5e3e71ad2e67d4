"""Relaxed one-hot categorical: the concrete distribution (Maddison et al., arXiv:1611.00712; Jang et al., arXiv:1611.01144)."""
from __future__ import annotations

import torchshim as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .one_hot_categorical import OfCategorical
from .relaxed_bernoulli import OfRelaxed
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical, Distribution):
    """The logarithm of a relaxed one-hot vector."""
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _tensors, _parts, _kept = (), ("_categorical",), ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=torch.Size()):
        u = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        n = self._categorical._num_events
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + torch.full_like(self.temperature, float(n)).lgamma() + (n - 1) * self.temperature.log()


class RelaxedOneHotCategorical(OfRelaxed, TransformedDistribution):
    """Points of the simplex, near its corners for low temperatures, with gradients."""
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _own = ()

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args), ExpTransform(),
                         validate_args=validate_args)
