"""Parametrizations that come with torch: orthogonal matrices, weight normalisation, spectral normalisation."""
from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...linalg import householder_product, solve
from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.dtype import finfo
from ...tensor.core.tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import as_matrix, default_dim
from .weight_norm import _weight_norm, norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q):
    n, k = q.shape[-2:]
    one = FUNCTIONS["eye"](k, dtype=q.dtype, device=q.device)
    return FUNCTIONS["allclose"](q.mH @ q, one, atol=10.0 * n * finfo(q.dtype).eps)


def _make_orthogonal(a):
    """The Q of a's QR decomposition with a positive diagonal of R."""
    x, tau = FUNCTIONS["geqrf"](a)
    return householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A matrix made orthogonal (or, of more rows than columns, with orthonormal columns; else with such rows)."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        n, k = X.shape[-2:]
        wide = n < k
        if wide:
            X, n, k = X.mT, k, n
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._rotated(X, n, k)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotated(self, X, n, k):
        """exp(A), or Cayley's (1 - A/2)^-1 (1 + A/2), of the skew-symmetric A of X's lower triangle."""
        X = X.tril()
        if n != k:
            X = FUNCTIONS["cat"]([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = FUNCTIONS["matrix_exp"](A)
        else:
            one = FUNCTIONS["eye"](n, dtype=A.dtype, device=A.device)
            Q = solve(one - A * 0.5, one + A * 0.5)
        return Q[..., :k] if n != k else Q

    def _reflected(self, X):
        """The product of reflections along X's columns below the diagonal; the diagonal holds the signs."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        return householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, Q):
        """The tensor that is mapped to Q, if Q is orthogonal."""
        with no_grad():
            if Q.shape != self.shape:
                raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
            first = Q
            n, k = Q.shape[-2:]
            wide = n < k
            if wide:
                Q, n, k = Q.mT, k, n
            if not hasattr(self, "base"):
                if self.orthogonal_map != "householder":
                    raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                                              "use_trivialization=False.")
                A, tau = FUNCTIONS["geqrf"](Q)
                diagonal = A.diagonal(dim1=-2, dim2=-1)
                diagonal.sign_()
                diagonal[tau == 0.0] *= -1
                return A.mT if wide else A
            if n != k:
                more = FUNCTIONS["randn"](*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
                Q = _make_orthogonal(FUNCTIONS["cat"]([Q, more], dim=-1))
            else:
                Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
            self.base = Q
            minus_one = FUNCTIONS["zeros_like"](first)
            minus_one.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return minus_one


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix (or a batch of them) orthogonal. orthogonal_map: "matrix_exp", "cayley" or "householder"; default by the shape.

    use_trivialization: the map is taken relative to the present matrix, which can then be assigned to.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """A tensor as its direction times its length along all dimensions but `dim` (Salimans & Kingma, arXiv:1602.07868)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def accept_old_names(state_dict, prefix, *others):
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(k in state_dict for k in old):
            for i, k in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(k)
    module._register_load_state_dict_pre_hook(accept_old_names)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        n = weight.ndim
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % n, eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            h, w = matrix.shape
            u, v = matrix.new_empty(h).normal_(0, 1), matrix.new_empty(w).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix, rounds):
        with no_grad():
            for _ in range(rounds):
                F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
                F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()        # a later step changes the buffers before this one's backward
        return weight / FUNCTIONS["vdot"](u, matrix.mv(v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """A tensor, seen as a matrix, over its largest singular value, which is followed by power iteration (arXiv:1802.05957)."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = default_dim(module) if dim is None else dim
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
