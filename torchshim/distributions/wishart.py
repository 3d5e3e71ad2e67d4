"""Wishart: covariance matrices of samples."""
from __future__ import annotations

import math

import torchshim as torch

from ..engine import warn
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import is_number, lazy_property

__all__ = ["Wishart"]
_log_2 = math.log(2)


def _mvdigamma(x, p):
    """The derivative of mvlgamma."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2)).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of the outer products of df normal vectors whose covariance is given by one of three matrices, as for MultivariateNormal."""
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _tensors = "df", "covariance_matrix", "precision_matrix", "scale_tril", "_unbroadcasted_scale_tril"

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {n: x for n, x in (("covariance_matrix", covariance_matrix), ("precision_matrix", precision_matrix),
                                   ("scale_tril", scale_tril)) if x is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if is_number(df):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device).expand(batch_shape)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(n).any():
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if name == "covariance_matrix":
            matrix = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix
        self._dist_chi2 = self._chi2()

    def _chi2(self):
        """Of the squares on the diagonal of Bartlett's factor."""
        k = torch.arange(self._event_shape[-1], dtype=self._unbroadcasted_scale_tril.dtype, device=self._unbroadcasted_scale_tril.device)
        return Chi2(df=self.df.unsqueeze(-1) - k.expand(self._batch_shape + (-1,)))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in Wishart._tensors:
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(batch_shape + (() if name == "df" else self.event_shape))
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._dist_chi2 = new._chi2()
        new._validate_args = self._validate_args
        return new

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def _matrices(self, x):
        return x.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The covariance's Cholesky factor."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The covariance's inverse."""
        L = self._unbroadcasted_scale_tril
        return self._matrices(torch.cholesky_solve(torch.eye(L.shape[-1], dtype=L.dtype, device=L.device), L))

    def _over_matrices(self, x):
        return x.view(self._batch_shape + (1, 1))

    @property
    def mean(self):
        return self._over_matrices(self.df) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self.event_shape[-1] - 1
        return self._over_matrices(torch.where(factor <= 0, torch.nan, factor)) * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        d = V.diagonal(dim1=-2, dim2=-1)
        return self._over_matrices(self.df) * (V.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape=torch.Size()):
        n = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(n, n, offset=-1)
        noise[..., i, j] = torch.randn(torch.Size(sample_shape) + self._batch_shape + (n * (n - 1) // 2,), dtype=noise.dtype,
                                       device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        """Matrices by Bartlett's decomposition; singular ones are drawn again, up to max_try_correction times (10)."""
        sample_shape = torch.Size(sample_shape)
        dims = [-(k + 1) for k in range(len(self._batch_shape))]

        def of_all(flags):
            return flags.amax(dims) if dims else flags
        sample = self._bartlett_sampling(sample_shape)
        again = of_all(self.support.check(sample))     # not negated: torch draws good first samples again, and so do its numbers come
        if again.any():
            warn("Singular sample detected.")
            for _ in range(10 if max_try_correction is None else max_try_correction):
                new = self._bartlett_sampling(again[again].shape)
                sample[again] = new
                again[again.clone()] = of_all(~self.support.check(new))
                if not again.any():
                    break
        return sample

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check_value(value)
        df, n = self.df, self._event_shape[-1]
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (-df * (n * _log_2 / 2 + self._half_log_det()) - torch.mvlgamma(df / 2, p=n)
                + (df - n - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self):
        df, n = self.df, self._event_shape[-1]
        return ((n + 1) * (n * _log_2 / 2 + self._half_log_det()) + torch.mvlgamma(df / 2, p=n)
                - (df - n - 1) / 2 * _mvdigamma(df / 2, p=n) + df * n / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        return (y + (n + 1) / 2) * (-torch.linalg.slogdet(-2 * x).logabsdet + _log_2 * n) + torch.mvlgamma(y + (n + 1) / 2, p=n)
