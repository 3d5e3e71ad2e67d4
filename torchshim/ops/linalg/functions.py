"""Functions of square matrices: determinants, the exponential."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from ..common import wide
from ..loops import fori_loop, kernel as known
from ..registry import op
from .common import LINALG, diag, inexact, kernel, square
from .factor import lu
from .solve import solve_linearly


def sign_of_permutation(pivots):
    """1 or -1: how many rows changed places."""
    k = pivots.shape[-1]
    moved = jnp.sum(pivots != jnp.arange(k, dtype=pivots.dtype), -1)
    return 1 - 2 * (moved % 2)


@known
def determinant(A):
    """The determinant, by LU."""
    LU, pivots, _ = lu(A)
    return jnp.prod(diag(LU), -1) * sign_of_permutation(pivots).astype(A.dtype)


det = jax.custom_jvp(determinant)


@det.defjvp
def _det_jvp(primals, tangents):
    # jnp's rule goes by cofactors: it holds for singular matrices too
    out = det(*primals)
    overflowed = jnp.where(jnp.isfinite(out), 1, jnp.nan).astype(out.dtype)[..., None, None]       # where JAX's derivative is 0
    return out, jax.jvp(jnp.linalg.det, primals, (tangents[0] * overflowed,))[1]


@op("linalg_det(Tensor A) -> Tensor", **LINALG, grad="LinalgDetBackward0", grad_back="LinalgSolveEx", least=4,
    twice=lambda inst: "zeros" if inst.in_metas[0].numel and inst.in_metas[0].shape[-1] > 1 else "compared",
    saves=("A", "result"))
def linalg_det(A):
    """The determinant."""
    square("linalg.det", A)
    inexact("linalg.det", A)
    kernel("lu_cpu", A)
    return det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@jax.custom_jvp
def slogdet(A):
    """(sign, log |det|), by LU."""
    LU, pivots, _ = lu(A)
    d = diag(LU)
    size = jnp.abs(d)
    if jnp.iscomplexobj(d):
        phase = jnp.where(size == 0, 0, d / jnp.where(size == 0, 1, size))
    else:
        phase = jnp.where(jnp.isnan(d), 0, jnp.sign(d))
    return jnp.prod(phase, -1) * sign_of_permutation(pivots).astype(A.dtype), jnp.sum(jnp.log(size), -1)


@slogdet.defjvp
def _slogdet_jvp(primals, tangents):
    sign, log = slogdet(*primals)
    trace = jnp.sum(diag(solve_linearly(primals[0], tangents[0])[0]), -1)
    dsign = sign * (1j * jnp.imag(trace)).astype(sign.dtype) if jnp.iscomplexobj(sign) else jnp.zeros_like(sign)
    return (sign, log), (dsign, jnp.real(trace).astype(log.dtype))


@op("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", **LINALG, grad="LinalgSlogdetBackward0",
    grad_back="LinalgSolveEx", twice="zeros", saves=("A", "sign"))
def linalg_slogdet(A):
    """The sign (or phase) of the determinant and the logarithm of its absolute value."""
    square("linalg.slogdet", A)
    inexact("linalg.slogdet", A, half=False)
    return slogdet(A)


linalg_slogdet.idle = lambda inst: () if inst.in_metas[0].dtype.kind == "c" else (0,)


@op("logdet(Tensor self) -> Tensor", grad=lambda inst: "AddBackward0" if inst.in_metas[0].dtype.kind == "c" else "WhereBackward0",
    grad_back="LinalgSolveEx", out=False)
def logdet(self):
    """The logarithm of the determinant: nan where it is negative."""
    square("logdet", self)
    inexact("logdet", self, half=False)
    sign, log = slogdet(self)
    if jnp.iscomplexobj(self):
        return jnp.log(sign) + log
    return jnp.where(sign == -1, jnp.nan, log)


_DEGREE, _SQUARINGS = 18, 32
_NORM = {"float32": 3.0, "float64": 1.0}       # up to which what Taylor's series of that degree leaves out is less than a rounding


def exponential(A):
    """The exponential of matrices, by scaling and squaring: jax.scipy's scales to twice the norm that its approximation is good for."""
    size = jnp.max(jnp.sum(jnp.abs(jax.lax.stop_gradient(A)), -2), -1, keepdims=True)[..., None]
    norm = _NORM[size.dtype.name]
    halvings = jnp.where(size > norm, jnp.ceil(jnp.log2(size / norm)), 0)      # none for a nan, which the series hands on
    A = A * jnp.exp2(-halvings).astype(A.dtype)
    times = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    square = times(A, A)
    cube = times(square, A)
    one = jnp.eye(A.shape[-1], dtype=A.dtype)
    made = cube * (1 / math.factorial(_DEGREE))
    for k in range(_DEGREE - 3, -1, -3):
        terms = one * (1 / math.factorial(k)) + A * (1 / math.factorial(k + 1)) + square * (1 / math.factorial(k + 2))
        made = terms + (made if k == _DEGREE - 3 else times(cube, made))
    made = fori_loop(0, _SQUARINGS, lambda k, x: jnp.where(k < halvings, times(x, x), x), made)
    return jnp.where(halvings > _SQUARINGS, jnp.nan, made)


@op("linalg_matrix_exp(Tensor self) -> Tensor", **LINALG, out=False, grad="LinalgMatrixExpBackward0", grad_back="Slice", twice="zeros")
def linalg_matrix_exp(self):
    """The exponential of a matrix."""
    square("linalg.matrix_exp", self)
    inexact("linalg.matrix_exp", self)
    if not self.size:
        return self
    a = wide(self)
    return (jnp.exp(a) if a.shape[-1] == 1 else exponential(a)).astype(self.dtype)
