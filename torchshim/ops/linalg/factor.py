"""Cholesky, LU and QR factorizations."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ...engine.interpret import linalg_rules
from ..loops import fori_loop, kernel as known
from ..registry import each_back, op
from .common import (DECLARED, LINALG, broadcast_batch, columns, diag, first_true, inexact, kernel, mH, matrix, mm, on_diagonal,
                     product_back, results_alone, same_dtype,
                     square)
from .spectrum import triangle

triangular_solve = jax.lax.linalg.triangular_solve


# -- Cholesky -----------------------------------------------------------------------------------------------------------------
@jax.custom_jvp
def cholesky(A):
    """The lower factor, from the lower triangle alone; nan where there is none."""
    return jax.lax.linalg.cholesky(A, symmetrize_input=False)


@cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    L = cholesky(*primals)
    inner = triangular_solve(L, tangents[0], left_side=True, lower=True)
    inner = triangular_solve(L, inner, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    return L, mm(L, (jnp.tril(inner) + jnp.tril(mH(inner), -1)) / 2)     # as torch: a gradient's diagonal may stay complex


@known
def failed_minor(A, L):
    """The order of the first leading minor that is not positive, 0 if all are. XLA tells only that a factorization failed; then
    elimination without pivots finds where."""
    def eliminate(_):
        def step(k, state):
            S, info = state
            row = jax.lax.dynamic_index_in_dim(S, k, S.ndim - 2, False)
            pivot = jnp.real(jax.lax.dynamic_index_in_dim(row, k, row.ndim - 1))
            info = jnp.where((info == 0) & ~(pivot[..., 0] > 0), k + 1, info).astype(np.int32)
            return S - jnp.conj(row)[..., :, None] * (row / jnp.where(pivot == 0, 1, pivot))[..., None, :], info
        whole = jnp.tril(A) + mH(jnp.tril(A, -1))
        return fori_loop(0, A.shape[-1], step, (whole, jnp.zeros(A.shape[:-2], np.int32)))[1]
    good = (jnp.real(diag(L)) > 0).all()
    return jax.lax.cond(good, lambda _: jnp.zeros(A.shape[:-2], np.int32), eliminate, None)


def _positive(name, A, upper):
    square(name, A)
    inexact(name, A)
    kernel("cholesky_cpu", A)
    if not A.size:
        return A, jnp.zeros(A.shape[:-2], np.int32)
    A = triangle(A, upper)
    L = cholesky(A)
    info = failed_minor(jax.lax.stop_gradient(A), jax.lax.stop_gradient(L))
    return (mH(L) if upper else L), info


def _positive_on_host(inst):
    m = inst.in_metas[0]
    return linalg_rules.factored(m.shape, m.dtype, inst.layout[1])


_ONE_ROUTINE = dict(weight=lambda inst: (1, 3, 0, 0))      # compiled, it calls the same routine


@op("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", **DECLARED,
    grad="LinalgCholeskyExBackward0",
    grad_back="LinalgSolveTriangular", strides=columns(0), twice="zeros", saves=("L",), host=_positive_on_host, **_ONE_ROUTINE,
    seen=results_alone)
def linalg_cholesky_ex(self, upper, check_errors):
    """The Cholesky factor of positive-definite matrices (nan where one is not), and per matrix the order of the first leading minor
    that is not positive."""
    return _positive("linalg.cholesky", self, upper)


@op("cholesky.ex(Tensor self, bool upper=False) -> (Tensor L, Tensor info)", grad="CholeskyBackward0",
    grad_back="LinalgSolveTriangular", strides=columns(0), twice="zeros",
    saves=("L",), host=_positive_on_host, **_ONE_ROUTINE, seen=results_alone)
def cholesky_old(self, upper):
    """torch.cholesky: what linalg.cholesky_ex returns."""
    return _positive("cholesky", self, upper)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def by_cholesky(L, B, upper):
    """A^-1 B with A = L L^H, or L^H L when `upper`. As in torch its derivative by L is that of all elements,
    those that are not read too."""
    L, B = broadcast_batch(L, B)
    first = dict(left_side=True, lower=not upper, transpose_a=upper, conjugate_a=upper)
    then = dict(left_side=True, lower=not upper, transpose_a=not upper, conjugate_a=not upper)
    return triangular_solve(L, triangular_solve(L, B, **first), **then)


@by_cholesky.defjvp
def _by_cholesky_jvp(upper, primals, tangents):
    (L, B), (dL, dB) = primals, tangents
    X = by_cholesky(L, B, upper)
    dA = mm(mH(dL), L) if upper else mm(dL, mH(L))
    return X, by_cholesky(L, dB - mm(dA + mH(dA), X), upper)


def _solvable(name, b, A, first="b", second="A"):
    for what, x in ((first, b), (second, A)):
        if x.ndim < 2:
            raise RuntimeError(f"{what} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    square("", A)
    if A.shape[-2] != b.shape[-2]:
        raise RuntimeError(f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b matrix is "
                           f"{b.shape[-2]} by {b.shape[-1]}")
    same_dtype(name, b, A, first, second)


def _summed(g, like):
    """g, summed over the dimensions of batches that `like` was stretched to."""
    return jax.vjp(lambda x: jnp.broadcast_to(x, g.shape[:-2] + x.shape[-2:]), like)[1](g)[0]


def _cholesky_solve_back(ct, self, input2, upper, result):
    g = by_cholesky(input2, ct, upper)
    both = mm(g, mH(result))
    both = both + mH(both)
    return [_summed(g, self), _summed(-mm(input2, both) if upper else -mm(both, input2), input2)]


def _cholesky_inverse_back(ct, self, upper, result):
    both = mm(result, mm(ct + mH(ct), result))
    return [-mm(self, both) if upper else -mm(both, self)]


@op("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", grad="CholeskySolveBackward0",
    grad_back=each_back("CholeskySolve", "Neg"), strides=columns(),
    twice="zeros", rule=_cholesky_solve_back, saves=("self", "input2", "result"))
def cholesky_solve(self, input2, upper):
    """A^-1 self, where A has the Cholesky factor input2."""
    _solvable("cholesky_solve", self, input2, second="u")
    kernel("cholesky_solve_cpu", self)
    if not self.size:
        return jnp.zeros(jnp.broadcast_shapes(self.shape[:-2], input2.shape[:-2]) + self.shape[-2:], self.dtype)
    return by_cholesky(input2, self, upper)


@op("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", grad="CholeskyInverseBackward0",
    grad_back="Neg", strides=columns(), twice="zeros",
    rule=_cholesky_inverse_back, saves=("self", "result"))
def cholesky_inverse(self, upper):
    """The inverse of the matrix whose Cholesky factor is given."""
    square("cholesky_inverse", self)
    kernel("cholesky_inverse_out_cpu", self)
    return by_cholesky(self, jnp.broadcast_to(jnp.eye(self.shape[-1], dtype=self.dtype), self.shape), upper) if self.size else self


# -- LU -----------------------------------------------------------------------------------------------------------------------
def lu(A):
    """(LU in one matrix, pivots from 0, permutation) of LAPACK's getrf."""
    if not A.size:
        k = min(A.shape[-2:])
        rows = jnp.broadcast_to(jnp.arange(A.shape[-2], dtype=np.int32), A.shape[:-1])
        return A, rows[..., :k], rows
    return jax.lax.linalg.lu(A)


def _factorizable(name, A, pivot):
    if A.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    kernel("lu_cpu", A)


@op("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", **DECLARED,
    grad="LinalgLuFactorExBackward0", grad_back=product_back, strides=columns(0), twice="zeros", seen=results_alone,
    saves=("LU", "pivots"))
def linalg_lu_factor_ex(A, pivot, check_errors):
    """L and U in one matrix, LAPACK's pivots (from 1), and per matrix the place of the first zero on U's diagonal."""
    _factorizable("torch.lu_factor", A, pivot)
    LU, pivots, _ = lu(A)
    return LU, pivots + 1, first_true(diag(jax.lax.stop_gradient(LU)) == 0)


def lower_unit(LU, k):
    """L, (m, k), of a packed factorization."""
    L = jnp.tril(LU[..., :, :k], -1)
    return L + jnp.eye(L.shape[-2], k, dtype=L.dtype)


def permutation_matrix(perm, dtype):
    """P with A = P L U, from the order of A's rows in L U."""
    return (jnp.arange(perm.shape[-1])[:, None] == perm[..., None, :]).astype(dtype)


@op("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", **DECLARED, grad="LinalgLuBackward0",
    grad_back=product_back, twice="zeros", seen=results_alone, saves=("P", "L", "U"))
def linalg_lu(A, pivot):
    """P, L, U with A = P L U."""
    _factorizable("linalg.lu", A, pivot)
    k = min(A.shape[-2:])
    LU, _, perm = lu(A)
    return permutation_matrix(perm, A.dtype), lower_unit(LU, k), jnp.triu(LU[..., :k, :])


def permutation(pivots, rows):
    """The order of rows that LAPACK's pivots (from 1) make."""
    if not pivots.size:
        return jnp.broadcast_to(jnp.arange(rows), pivots.shape[:-1] + (rows,)).astype(np.int32)
    return jax.lax.linalg.lu_pivots_to_permutation(jnp.clip(pivots - 1, 0, rows - 1), rows)       # others would be written beyond the end


@op("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    **DECLARED, grad="LuUnpackBackward0", nondiff=("LU_pivots",))
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L and U of a packed factorization; an empty tensor for what is not wanted."""
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is "
                           "intended to be used with the output produced by torch.linalg.lu_factor")
    m, k = LU_data.shape[-2], min(LU_data.shape[-2:])
    none = jnp.zeros((0,), LU_data.dtype)
    P = permutation_matrix(permutation(LU_pivots, m), LU_data.dtype) if unpack_pivots else none
    return (P, lower_unit(LU_data, k), jnp.triu(LU_data[..., :k, :])) if unpack_data else (P, none, none)


def solve_packed(LU, perm, B, adjoint=False):
    """A^-1 B (or A^-H B) from A's factorization; batches are equal."""
    if adjoint:
        X = triangular_solve(LU, B, left_side=True, lower=False, transpose_a=True, conjugate_a=True)
        X = triangular_solve(LU, X, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True)
        return jnp.take_along_axis(X, jnp.argsort(perm, -1)[..., None], -2)
    X = jnp.take_along_axis(B, perm[..., None], -2)
    X = triangular_solve(LU, X, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(LU, X, left_side=True, lower=False)


@functools.cache
def _pivot(words, wrong):
    """What `precheck` returns of pivots: where they are, who says that some are wrong, and the error."""
    return 1, wrong, lambda: RuntimeError(f"Pivots given to lu_solve must all be {words}. Did you properly pass the result of lu_factor?")


@functools.cache
def _above(n):
    return op(f"any_above_{n}.late(Tensor self) -> Tensor")(lambda self: jnp.any(self > n))


BELOW_ONE = op("any_below_one.late(Tensor self) -> Tensor")(lambda self: jnp.any(self < 1))


def _refuse_pivots(LU, pivots, B, left, adjoint):
    if getattr(pivots, "dtype", None) != np.int32 or not LU.ndim or not pivots.numel:
        return ()
    return _pivot("greater or equal to 1", BELOW_ONE), _pivot("smaller or equal to LU.size(-2)", _above(LU.shape[-1]))


@op("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", **LINALG,
    grad="LinalgLuSolveBackward0",
    grad_back=each_back("Add", None, "LinalgLuSolve"), nondiff=("pivots",), precheck=_refuse_pivots, saves=("LU", "pivots", "result"),
    seen=lambda inst: {2: None},
    strides=lambda inst, LU, pivots, B, left, adjoint: columns()(inst) if left else None)
def linalg_lu_solve(LU, pivots, B, left, adjoint):
    """X with A X = B (or X A = B), from A's factorization."""
    name = "linalg.lu_solve"
    inexact("torch.linalg.lu_solve", LU)
    if pivots.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    square(name, LU, "LU")
    matrix(name, B, "B")
    same_dtype(name, LU, B, "LU", "B")
    if (LU.shape[-2] != B.shape[-2]) if left else (LU.shape[-1] != B.shape[-1]):
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-2] != pivots.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} instead")
    kernel("linalg.lu_solve_cpu", LU)
    perm = permutation(pivots, LU.shape[-1])
    B = B if left else mH(B)
    LU, B = broadcast_batch(LU, B)
    if not B.size:
        return B if left else mH(B)
    perm = jnp.broadcast_to(perm, LU.shape[:-1])
    X = solve_packed(LU, perm, B, adjoint == left)
    return X if left else mH(X)


# -- QR -----------------------------------------------------------------------------------------------------------------------
def _qr(A, full):
    m, n = A.shape[-2:]
    if not A.size:
        k = m if full else min(m, n)
        return jnp.broadcast_to(jnp.eye(m, k, dtype=A.dtype), A.shape[:-2] + (m, k)), jnp.zeros(A.shape[:-2] + (k, n), A.dtype)
    return jax.lax.linalg.qr(A, full_matrices=full)


@jax.custom_jvp
def qr(A):
    """The reduced Q and R."""
    return tuple(_qr(A, False))


@qr.defjvp
def _qr_jvp(primals, tangents):
    Q, R = qr(*primals)
    dA, k = tangents[0], R.shape[-2]
    QdA = mm(mH(Q), dA)
    R1 = R[..., :k]
    right = lambda x: triangular_solve(R1, x, left_side=False, lower=False)
    M = right(QdA[..., :k])
    W = jnp.tril(M, -1)
    W = W - mH(W)
    if jnp.iscomplexobj(M):
        W = W + on_diagonal(1j * jnp.imag(diag(M)).astype(M.dtype))        # R's diagonal is real
    dQ = mm(Q, W - M) + right(dA[..., :k])
    return (Q, R), (dQ, QdA - mm(W, R))


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", **DECLARED, grad="LinalgQrBackward0",
    grad_back="LinalgSolveTriangular", strides=columns(),
    twice="zeros")
def linalg_qr(A, mode):
    """Q with orthonormal columns and the upper triangular R, A = Q R."""
    matrix("linalg.qr", A)
    inexact("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    kernel("geqrf_cpu", A)
    if mode == "complete" and A.shape[-2] > A.shape[-1] or not A.size:
        return tuple(_qr(jax.lax.stop_gradient(A), mode == "complete"))
    Q, R = qr(A)
    return (jnp.zeros((0,), A.dtype), R) if mode == "r" else (Q, R)
