"""Multivariate normal with a covariance of low rank plus a diagonal; by Woodbury's identity."""
from __future__ import annotations

import math

import torchshim as torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _plus_one(matrix):
    return matrix + torch.eye(matrix.size(-1), dtype=matrix.dtype, device=matrix.device)


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of 1 + W^T D^-1 W."""
    return torch.linalg.cholesky(_plus_one(torch.matmul(W.mT / D.unsqueeze(-2), W)))


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """log det(W W^T + D)."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """x^T (W W^T + D)^-1 x."""
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(W.mT / D.unsqueeze(-2), x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance cov_factor cov_factor^T + diag(cov_diag)."""
    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _tensors = "loc", "cov_factor", "cov_diag"
    _kept = "_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            column, self.cov_factor, diagonal = torch.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as e:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}") from e
        self.loc, self.cov_diag = column[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _matrices(self, x):
        return x.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def _low_rank(self):
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        W, D = self._low_rank
        return (W.pow(2).sum(-1) + D).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        W, D = self._low_rank
        root = D.sqrt().unsqueeze(-1)
        scaled = W / root
        return self._matrices(root * torch.linalg.cholesky(_plus_one(torch.matmul(scaled, scaled.mT))))

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        W, D = self._low_rank
        return self._matrices(torch.matmul(W, W.mT) + torch.diag_embed(D))

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        W, D = self._low_rank
        A = torch.linalg.solve_triangular(self._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
        return self._matrices(torch.diag_embed(D.reciprocal()) - A.mT @ A)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        W, D = self._low_rank
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        low = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        return self.loc + _batch_mv(W, low) + D.sqrt() * _standard_normal(shape, **options)

    def log_prob(self, value):
        self._check_value(value)
        distance = _batch_lowrank_mahalanobis(*self._low_rank, value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
