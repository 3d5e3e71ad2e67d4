"""Exponential families: density exp(natural parameters · statistics - log normalizer + carrier measure)."""
from __future__ import annotations

import torchshim as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of exponential families; entropies and divergences follow
    from `_natural_params` and `_log_normalizer` (Nielsen & Nock, 2010)."""

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        means = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for p, m in zip(params, means):
            result = result - (p * m).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
