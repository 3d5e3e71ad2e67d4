"""Eigenvalues, singular values and what follows from them. Where two values are equal, the gradient of their vectors is not defined: inf or
nan, as in torch, which leaves it out only where nobody uses the vectors."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .. import promotion as P
from ..registry import op, shown
from .common import DECLARED, LINALG, columns, diag, inexact, kernel, mH, matrix, mm, mT, product_back, real_dtype, results_alone, square


def over_gaps(x, values):
    """x_ij / (v_j - v_i), 0 on the diagonal."""
    same = np.eye(values.shape[-1], dtype=bool)
    return jnp.where(same, 0, x / jnp.where(same, 1, values[..., None, :] - values[..., :, None]))


# -- Hermitian matrices -----------------------------------------------------------------------------------------------------------
@jax.custom_jvp
def eigh(A):
    """(ascending eigenvalues, eigenvectors), from the lower triangle."""
    V, w = jax.lax.linalg.eigh(A, lower=True, symmetrize_input=False)
    return w, V


@eigh.defjvp
def _eigh_jvp(primals, tangents):
    w, V = eigh(*primals)
    inner = mm(mH(V), tangents[0], V)
    turned = (inner + mH(inner)) / 2               # whatever A's other triangle holds, its gradient is Hermitian
    return (w, V), (jnp.real(diag(inner)), mm(V, over_gaps(turned, w)))


def _hermitian(self, UPLO):
    square("linalg.eigh", self)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    kernel("linalg_eigh_cpu", self)
    return triangle(self, UPLO.upper() == "U")


@jax.custom_jvp
def _flipped(A):
    """A matrix whose lower triangle is A's upper one; torch's gradient takes A for Hermitian, so it is passed on as it is."""
    return mH(A)


@_flipped.defjvp
def _flipped_jvp(primals, tangents):
    return _flipped(*primals), tangents[0]


def triangle(A, upper):
    return _flipped(A) if upper else A


def _empty_spectrum(A):
    return jnp.zeros(A.shape[:-1], real_dtype(A.dtype)), A


@op("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", **LINALG, grad="LinalgEighBackward0",
    grad_back=product_back,
    strides=columns(1), twice="zeros")
def linalg_eigh(self, UPLO):
    """Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices; the triangle UPLO is read."""
    A = _hermitian(self, UPLO)
    return eigh(A) if A.size else _empty_spectrum(A)


@op("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor", **LINALG, grad="LinalgEighBackward0", grad_back=product_back, twice="zeros",
    seen=results_alone, saves=("result",))
def linalg_eigvalsh(self, UPLO):
    """Eigenvalues of Hermitian matrices, ascending; the triangle UPLO is read."""
    A = _hermitian(self, UPLO)
    return eigh(A)[0] if A.size else _empty_spectrum(A)[0]


# -- general matrices -----------------------------------------------------------------------------------------------------------
def as_complex(A):
    return A if jnp.iscomplexobj(A) else A.astype(P.complex128 if A.dtype == P.float64 else P.complex64)


@jax.custom_jvp
def eig(A):
    """(eigenvalues, eigenvectors of length one), complex."""
    return tuple(jax.lax.linalg.eig(A, compute_left_eigenvectors=False))


@eig.defjvp
def _eig_jvp(primals, tangents):
    w, V = eig(*primals)
    inner = jnp.linalg.solve(V, mm(as_complex(tangents[0]), V))
    dV = mm(V, over_gaps(inner, w))
    length = jnp.real(jnp.sum(jnp.conj(V) * dV, -2, keepdims=True))
    return (w, V), (diag(inner), dV - V * length)


def _general(name, A):
    if P.kind_of(A.dtype) < 2:
        raise RuntimeError(f"Unknown Complex ScalarType for {P.c_name(A.dtype)}")
    square(name, A)
    kernel("linalg_eig_out_cpu", A)
    if not A.size:
        A = as_complex(A)
        return jnp.zeros(A.shape[:-1], A.dtype), A
    return eig(A)


def _general_back(inst, needs):
    return "LinalgSolveExBackward0" if inst.in_metas[0].dtype.kind == "c" else "SelectBackward0"     # the real part


@op("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", **DECLARED, grad="LinalgEigBackward0",
    grad_back=_general_back, strides=columns(1),
    twice="zeros")
def linalg_eig(self):
    """Complex eigenvalues and eigenvectors. XLA has the algorithm on CPUs (and on NVIDIA GPUs since CUDA 12.6)."""
    return _general("linalg.eig", self)


@op("linalg_eigvals(Tensor self) -> Tensor", **DECLARED, grad="LinalgEigBackward0", grad_back=_general_back, twice="zeros",
    seen=results_alone, saves=("result",))
def linalg_eigvals(self):
    """Complex eigenvalues."""
    return _general("linalg.eigvals", self)[0]


# -- singular values -----------------------------------------------------------------------------------------------------------
def _svd(A, full):
    m, n = A.shape[-2:]
    if not A.size:
        k = min(m, n)
        eye = lambda r, c: jnp.broadcast_to(jnp.eye(r, c, dtype=A.dtype), A.shape[:-2] + (r, c))
        return eye(m, m if full else k), jnp.zeros(A.shape[:-2] + (k,), real_dtype(A.dtype)), eye(n if full else k, n)
    return jax.lax.linalg.svd(A, full_matrices=full)


@jax.custom_jvp
def svd(A):
    """The reduced (U, S, Vh)."""
    return tuple(_svd(A, False))


@svd.defjvp
def _svd_jvp(primals, tangents):
    (A,), (dA,) = primals, tangents
    U, S, Vh = svd(A)
    V, (m, n), k = mH(Vh), A.shape[-2:], S.shape[-1]
    inner = mm(mH(U), dA, V)                       # dS on the diagonal; the rest turns the vectors
    s = S[..., None, :]
    dU = mm(U, over_gaps(inner * s + mH(inner) * mT(s), S ** 2))
    dV = mm(V, over_gaps(inner * mT(s) + mH(inner) * s, S ** 2))
    if jnp.iscomplexobj(A):                        # the phase that the two vectors share is not determined: it is U's
        inverse = jnp.where(s == 0, 0, 1 / jnp.where(s == 0, 1, s))
        dU = dU + U * (1j * jnp.imag(diag(inner)).astype(A.dtype)[..., None, :] * inverse)
    if m > k:
        dAV = mm(dA, V)
        dU = dU + (dAV - mm(U, mH(U), dAV)) / s
    if n > k:
        dAU = mm(mH(dA), U)
        dV = dV + (dAU - mm(V, Vh, dAU)) / s
    return (U, S, Vh), (dU, jnp.real(diag(inner)).astype(S.dtype), mH(dV))


def check_svd(name, A, driver):
    matrix(name, A)
    inexact(name, A)
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    kernel("linalg_svd_cpu", A)


def full_svd(A):
    """The complete (U, S, Vh). The vectors beyond the singular values have no gradient."""
    U, S, Vh = _svd(jax.lax.stop_gradient(A), True)
    k = S.shape[-1]
    part = svd(A)
    if not A.size or A.shape[-1] == A.shape[-2]:
        return part if A.size else (U, S, Vh)
    U1, S1, Vh1 = part
    return jnp.concatenate([U1, U[..., :, k:]], -1), S1, jnp.concatenate([Vh1, Vh[..., k:, :]], -2)


@op("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", **DECLARED,
    grad="LinalgSvdBackward0", grad_back=product_back, strides=columns(0, 2), twice="zeros")
def linalg_svd(A, full_matrices, driver):
    """U, the singular values in descending order, and Vh with A = U diag(S) Vh."""
    check_svd("linalg.svd", A, driver)
    return full_svd(A) if full_matrices else svd(A) if A.size else _svd(A, False)


@jax.custom_jvp
def svdvals(A):
    """The singular values."""
    return jax.lax.linalg.svd(A, compute_uv=False) if A.size else _svd(A, False)[1]


@svdvals.defjvp
def _svdvals_jvp(primals, tangents):
    U, S, Vh = svd(*primals)
    return svdvals(*primals), jnp.real(jnp.sum(jnp.conj(U) * mm(tangents[0], mH(Vh)), -2)).astype(S.dtype)


@op("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", **DECLARED, grad="LinalgSvdBackward0", grad_back=product_back, twice="zeros",
    seen=results_alone, saves=("result",))
def linalg_svdvals(A, driver):
    """The singular values, descending."""
    check_svd("linalg.svd", A, driver)
    return svdvals(A)


@op("linalg_nonfinite(Tensor A) -> Tensor", **DECLARED)
def linalg_nonfinite(A):
    """Whether any element is inf or nan, for algorithms that do not converge then."""
    return ~jnp.isfinite(A).all()


@op("linalg_nan(Tensor A) -> Tensor", **DECLARED)
def linalg_nan(A):
    """The number of the first matrix that holds a nan, from 1; 0 if none does."""
    found = jnp.isnan(A).any((-2, -1)).ravel()
    return jnp.where(found.any(), 1 + jnp.argmax(found), 0)


# -- ranks and pseudo-inverses ------------------------------------------------------------------------------------------------------
def tolerance(A, largest, atol, rtol):
    """The threshold below which singular values count as zero."""
    real = real_dtype(A.dtype)
    if rtol is None:
        default = float(np.finfo(real).eps) * max(A.shape[-2:])
        rtol = jnp.where(atol > 0, 0, default) if atol is not None else default
    atol = 0 if atol is None else atol
    return jnp.maximum(jnp.asarray(atol, real), jnp.asarray(rtol, real) * largest)


def magnitudes(A, hermitian):
    """The singular values, in any order."""
    return jnp.abs(eigh(A)[0]) if hermitian else svdvals(A)


@op("linalg_matrix_rank(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", **DECLARED,
    numbers=("atol", "rtol"))
def linalg_matrix_rank(input, atol, rtol, hermitian):
    """How many singular values are above the tolerance."""
    matrix("torch.linalg.matrix_rank", input, "input")
    if P.kind_of(input.dtype) < 2 or P.compute_dtype(input.dtype) != input.dtype:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        square("linalg.matrix_rank", input)
    if not input.size:
        return jnp.zeros(input.shape[:-2], np.int64)
    S = magnitudes(input, hermitian)
    return jnp.sum(S > tolerance(input, S.max(-1), atol, rtol)[..., None], -1).astype(np.int64)


@jax.custom_jvp
def pseudo_inverse(A, P_):
    """P_, the pseudo-inverse of A, with its derivative: nothing in it divides by singular values."""
    return P_


@pseudo_inverse.defjvp
def _pseudo_inverse_jvp(primals, tangents):
    A, given = primals
    X, dA = pseudo_inverse(A, given), tangents[0]
    dAh, Xh = mH(dA), mH(X)
    dX = -mm(X, dA, X)
    inner = mm(X, Xh, dAh)
    dX = dX + inner - mm(inner, A, X)
    outer = mm(dAh, Xh, X)
    return X, dX + outer - mm(X, A, outer)


def pinv(A, atol=None, rtol=None, hermitian=False):
    fixed = jax.lax.stop_gradient(A)
    if hermitian:
        w, V = eigh(fixed)
        size = jnp.abs(w)
        Uh, V = mH(V), V
    else:
        U, w, Vh = svd(fixed)
        size, Uh, V = w, mH(U), mH(Vh)
    keep = size > tolerance(A, size.max(-1), atol, rtol)[..., None]
    inverse = jnp.where(keep, 1 / jnp.where(keep, w, 1), 0)
    return pseudo_inverse(A, mm(V * inverse[..., None, :].astype(V.dtype), Uh))


@op("linalg_pinv(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", **DECLARED,
    numbers=("atol", "rtol"), nondiff=("atol", "rtol"), grad="LinalgPinvBackward0", grad_back="Add", twice="zeros",
    saves=("self", "result"))
def linalg_pinv(self, atol, rtol, hermitian):
    """The pseudo-inverse; singular values below the tolerance count as zero."""
    if self.ndim < 2 or P.kind_of(self.dtype) < 2 or P.compute_dtype(self.dtype) != self.dtype:
        raise RuntimeError(f"linalg.pinv({P.c_name(self.dtype)}{{{shown(self.shape)}}}): expected a tensor with 2 or more dimensions of "
                           "float, double, cfloat or cdouble types")
    if hermitian:
        square("linalg.pinv", self)
    if not self.size:
        return jnp.zeros(self.shape[:-2] + (self.shape[-1], self.shape[-2]), self.dtype)
    return pinv(self, atol, rtol, hermitian)
