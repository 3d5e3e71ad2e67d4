"""Systems of linear equations, inverses, least squares."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ...engine.interpret import build, linalg_rules
from .. import promotion as P
from ..casts import cast
from ..loops import kernel as known
from ..registry import each_back, op
from .common import (DECLARED, LINALG, broadcast_batch, columns, diag, first_true, fits, inexact, kernel, mH, mT, matrix, mm, product_back,
                     same_dtype,
                     square)
from .factor import lu, qr, solve_packed, triangular_solve
from .spectrum import pinv, svd, tolerance


# -- solve and inverse ----------------------------------------------------------------------------------------------------------
def _by_factors(A, B):
    LU, _, perm = lu(A)
    return solve_packed(LU, perm, B), first_true(diag(LU) == 0)


@known
def solved(A, B):
    """(A^-1 B, LAPACK's info), for equal batches."""
    return _by_factors(A, B)


solve = jax.custom_jvp(solved)
solve_linearly = jax.custom_jvp(_by_factors)  # the same for tangents: JAX can transpose it


def _with_tangent(f):
    @f.defjvp
    def _solve_jvp(primals, tangents):
        A, (dA, dB) = primals[0], tangents
        X, info = f(*primals)
        return (X, info), (solve_linearly(A, dB - mm(dA, X))[0], np.zeros(info.shape, jax.dtypes.float0))


_with_tangent(solve)
_with_tangent(solve_linearly)


def is_vector(A, B):
    """Whether solve takes B for one vector for each matrix."""
    return B.ndim == 1 or A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]


def _solution_strides(inst, A, B, left, check_errors):
    return columns(0)(inst) if left else (None,) * len(inst.out_metas)


@op("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", **DECLARED,
    grad="LinalgSolveExBackward0", grad_back=each_back("Neg", "LinalgSolveEx"), strides=_solution_strides, twice="zeros",
    saves=("A", "result"), seen=lambda inst: {1: None})
def linalg_solve_ex(A, B, left, check_errors):
    """X with A X = B (or X A = B), and per matrix the place of the first zero pivot."""
    name = "linalg.solve"
    inexact(name, A)
    square(name, A)
    vector = is_vector(A, B)
    if vector and not left:
        same_dtype(name, A, B)
        fits(name, A, B[..., None], left)
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve "
                           "is equivalent to B / A.squeeze(-1)")
    same_dtype(name, A, B)
    B = B[..., None] if vector else B
    matrix(name, B, "B")
    fits(name, A, B, left)
    kernel("lu_cpu", A)
    A, B = broadcast_batch(A, B)
    if not left:
        A, B = mT(A), mT(B)
    if B.size:
        X, info = solve(A, B)
    else:
        X, info = B, jnp.zeros(A.shape[:-2], np.int32) if not A.size else first_true(diag(lu(jax.lax.stop_gradient(A))[0]) == 0)
    X = X if left else mT(X)
    return (X[..., 0] if vector else X), info


@jax.custom_jvp
def inverse(A):
    """(A^-1, LAPACK's info)."""
    return solve(A, jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape))


@inverse.defjvp
def _inverse_jvp(primals, tangents):
    X, info = inverse(*primals)
    return (X, info), (-mm(X, tangents[0], X), np.zeros(info.shape, jax.dtypes.float0))


@op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", **DECLARED, grad="LinalgInvExBackward0",
    grad_back="Neg",
    strides=columns(0), twice="zeros")
def linalg_inv_ex(A, check_errors):
    """The inverse, and per matrix the place of the first zero pivot."""
    square("linalg.inv", A)
    inexact("linalg.inv", A, half=False)
    return inverse(A) if A.size else (A, jnp.zeros(A.shape[:-2], np.int32))


# -- triangular systems -----------------------------------------------------------------------------------------------------------
def _triangular(A, B, upper, left, transpose, unitriangular):
    A, B = broadcast_batch(A, B)
    if not B.size:
        return B
    return triangular_solve(A, B, left_side=left, lower=not upper, transpose_a=transpose, unit_diagonal=unitriangular)


def _triangle_back(inst, needs):
    return "LinalgSolveTriangularBackward0" if needs[0] else "TriuBackward0" if inst.layout[2] else "TrilBackward0"


@op("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", **LINALG,
    grad="LinalgSolveTriangularBackward0", grad_back=_triangle_back, strides=columns(), twice="zeros", saves=("self", "result"))
def linalg_solve_triangular(self, B, upper, left, unitriangular):
    """X with A X = B (or X A = B) for a triangular A; the other triangle is not read."""
    name = "linalg.solve_triangular"
    square(name, self)
    matrix(name, B, "B")
    fits(name, self, B, left)
    kernel("triangular_solve_cpu", self)
    B = cast(B, self.dtype)                    # torch solves where the result is to be, in the dtype of the triangle
    return _triangular(self, B, upper, left, False, unitriangular)


def _old_triangle_back(inst, needs):
    return "TriangularSolveBackward0" if not needs[0] else "TriuBackward0" if inst.layout[2] else "TrilBackward0"


@op("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)", grad="TriangularSolveBackward0",
    grad_back=_old_triangle_back, strides=columns(), twice="zeros", saves=("self", "A", "solution"))
def triangular_solve_old(self, A, upper, transpose, unitriangular):
    """torch.triangular_solve: the solution of A X = self (of A^T X = self with `transpose`) and a copy of A."""
    name = "torch.triangular_solve"
    if self.ndim < 2:
        raise RuntimeError(f"{name}: Expected b to have at least 2 dimensions, but it has {self.ndim} dimensions instead")
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected A to have at least 2 dimensions, but it has {A.ndim} dimensions instead")
    if A.dtype != self.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {P.c_name(self.dtype)} and A of type "
                           f"{P.c_name(A.dtype)} instead.")
    square("", A)
    if A.shape[-2] != self.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b "
                           f"matrix is {self.shape[-2]} by {self.shape[-1]}")
    kernel("triangular_solve_cpu", self)
    A, B = broadcast_batch(A, self)
    return _triangular(A, B, upper, True, transpose, unitriangular), A


# -- least squares ------------------------------------------------------------------------------------------------------------------
@jax.custom_jvp
def _least_squares(A, B, X):
    """X, the least-norm solution, with the derivative of pinv(A) B."""
    return X


@_least_squares.defjvp
def _least_squares_jvp(primals, tangents):
    A, B, _ = primals
    return _least_squares(*primals), jax.jvp(lambda A, B: mm(pinv(A), B), (A, B), tangents[:2])[1]


def full_rank_solution(A, B):
    """By QR, LAPACK's gels."""
    if A.shape[-2] >= A.shape[-1]:
        Q, R = qr(A)
        return triangular_solve(R, mm(mH(Q), B), left_side=True, lower=False)
    Q, R = qr(mH(A))
    return mm(Q, triangular_solve(R, B, left_side=True, lower=False, transpose_a=True, conjugate_a=True))


def _lstsq_strides(inst, A, b, *_):
    """The solution is the upper part of memory that held b, in columns as long as the longer side of A."""
    X, rows, vector = inst.out_metas[0], max(A.shape[-2:]), A.ndim - 1 == b.ndim
    strides = [1] if vector else [1, rows]
    step = rows * (1 if vector else X.shape[-1])
    for n in X.shape[X.ndim - len(strides) - 1::-1] if X.ndim > len(strides) else ():
        strides.insert(0, step)
        step *= n
    return [tuple(strides) if X.numel else None, None, None]


def _lstsq_on_host(inst):
    A, B, driver = *inst.in_metas[:2], inst.layout[3]
    if inst.layout[2] is not None or driver not in (None, "gelsy") or A.ndim != B.ndim or A.ndim < 2:
        return None
    slow = functools.cache(lambda: build(inst.jaxpr, guard=False))
    return linalg_rules.least_squares(A.shape, B.shape, A.dtype, lambda *args: slow()(*args))


@op("linalg_lstsq(Tensor self, Tensor b, Tensor? rcond=None, *, str? driver=None) -> "
    "(Tensor solution, Tensor rank, Tensor singular_values)", **DECLARED, grad="LinalgLstsqBackward0",
    grad_back=lambda inst, needs: product_back(inst, needs) if needs[0] else "AddBackward0", numbers=("rcond",),
    nondiff=("rcond",), strides=_lstsq_strides, host=_lstsq_on_host, saves=("self", "b", "solution"))
def linalg_lstsq(self, b, rcond, driver):
    """The least-norm solution of min |A X - B|, the ranks and the singular values of A."""
    name, A, B = "torch.linalg.lstsq", self, b
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not B.ndim:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype, but got input's dtype {P.c_name(A.dtype)} and "
                           f"other's dtype {P.c_name(B.dtype)}")
    if A.ndim - B.ndim > 1 or A.ndim < B.ndim:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    rows = -1 if vector or B.ndim < 2 else -2
    if A.shape[-2] != B.shape[rows]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({rows})")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if P.kind_of(A.dtype) < 2 or P.compute_dtype(A.dtype) != A.dtype:
        raise RuntimeError("This function doesn't handle types other than float and double")
    B = B[..., None] if vector or B.ndim == A.ndim - 1 else B
    own = jax.lax.stop_gradient(A)             # of each matrix as given there is one rank
    A, B = broadcast_batch(A, B)
    fixed, right = jax.lax.stop_gradient(A), jax.lax.stop_gradient(B)
    rank, S = jnp.zeros(0 if driver == "gels" else own.shape[:-2], np.int64), jnp.zeros(0, _real(A))
    if not A.size or not B.size:
        shape = A.shape[:-2] + (A.shape[-1], B.shape[-1])
        S = jnp.zeros(own.shape[:-2] + (min(A.shape[-2:]),), S.dtype) if driver in ("gelsd", "gelss") else S
        return jnp.zeros(shape[:-1] if vector else shape, A.dtype), rank, S
    if driver == "gels":
        X = full_rank_solution(fixed, right)
    else:
        U, values, Vh = svd(own)
        rtol = np.finfo(_real(A)).eps * max(A.shape[-2:]) if rcond is None else jnp.where(rcond < 0, np.finfo(_real(A)).eps, rcond)
        keep = values > tolerance(A, values.max(-1), None, rtol)[..., None]
        inverse = jnp.where(keep, 1 / jnp.where(keep, values, 1), 0)
        X = mm(mH(Vh), inverse[..., :, None].astype(A.dtype) * mm(mH(U), right))
        rank = jnp.sum(keep, -1).astype(np.int64)
        S = values if driver in ("gelsd", "gelss") else S
    X = _least_squares(A, B, X)
    return (X[..., 0] if vector else X), rank, S


def _real(A):
    return P.float64 if A.dtype in (P.float64, P.complex128) else P.float32


@op("linalg_lstsq_residuals(Tensor self, Tensor B, Tensor solution, bool wanted) -> Tensor", **DECLARED,
    grad="LinalgLstsqBackward0", nowhere=lambda *layout: not layout[-1])
def linalg_lstsq_residuals(self, B, solution, wanted):
    """The squared distances |A X - B| ** 2 of each column; nothing if they are not wanted."""
    if not wanted:
        return jnp.zeros(0, _real(self))
    vector = self.ndim - 1 == B.ndim
    B, X = (B[..., None], solution[..., None]) if vector else (B, solution)
    gap = mm(self, X) - B
    return jnp.sum(jnp.real(gap) ** 2 + (jnp.imag(gap) ** 2 if jnp.iscomplexobj(gap) else 0), -2)
