"""Multivariate normal."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix, vector):
    """The product of matrices and vectors, batches broadcast."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(L, x):
    """|L^-1 x|² for lower triangular L; the batch of x may have dimensions before those of L."""
    batch = torch.broadcast_shapes(L.shape[:-2], x.shape[:-1])
    extra = len(batch) - (L.dim() - 2)
    if all(a == b for a, b in zip(L.shape[:-2], batch[extra:])):       # many vectors for each matrix: as columns, solved at once
        columns = x.expand(batch + x.shape[-1:]).movedim(tuple(range(extra)), tuple(range(-extra - 1, -1))) if extra else x
        flat = columns.reshape(L.shape[:-2] + (-1, x.shape[-1])).mT
        return (torch.linalg.solve_triangular(L, flat, upper=False).pow(2).sum(-2).reshape(L.shape[:-2] + batch[:extra])
                .movedim(tuple(range(L.dim() - 2, len(batch))), tuple(range(extra))))
    solved = torch.linalg.solve_triangular(L, x.expand(batch + x.shape[-1:]).unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(P):
    """The Cholesky factor of P's inverse, by that of P turned around."""
    flipped = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.flip(flipped, (-2, -1)).mT
    return torch.linalg.solve_triangular(inverse, torch.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors with a covariance, given by one of covariance_matrix, precision_matrix and scale_tril (its Cholesky factor)."""
    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _tensors, _kept = ("loc", "covariance_matrix", "precision_matrix", "scale_tril"), ("_unbroadcasted_scale_tril",)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {n: x for n, x in (("covariance_matrix", covariance_matrix), ("scale_tril", scale_tril),
                                   ("precision_matrix", precision_matrix)) if x is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name}{' matrix' if name == 'scale_tril' else ''} must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "covariance_matrix":
            matrix = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _matrices(self, x):
        return x.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._matrices(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        return self._matrices(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=torch.Size()):
        noise = _standard_normal(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check_value(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        return (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()).expand(self._batch_shape)
