"""Products of Householder reflections: what LAPACK's QR leaves behind (geqrf), and what uses it (orgqr, ormqr)."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .. import promotion as P
from ..loops import scan
from ..registry import each_back, op
from .common import LINALG, columns, kernel, mH, mT
from ..common import real_alone


def reflect(A, tau, C, transpose):
    """H_1 ... H_k C, or its adjoint applied to C, with H_i = 1 - tau_i v_i v_i^H and v_i from A's columns below the diagonal."""
    m, k = A.shape[-2], tau.shape[-1]
    V = jnp.tril(A[..., :k], -1) + jnp.eye(m, k, dtype=A.dtype)
    steps = (jnp.moveaxis(V, -1, 0), jnp.moveaxis(jnp.conj(tau) if transpose else tau, -1, 0))

    def step(C, now):
        v, t = now
        row = jnp.sum(jnp.conj(v)[..., :, None] * C, -2, keepdims=True)
        return C - t[..., None, None] * v[..., :, None] * row, None
    return scan(step, C, steps, reverse=not transpose)[0]


@jax.custom_jvp
def householder_product(A, tau):
    """The first columns of H_1 ... H_k, as many as A has."""
    return jax.lax.linalg.householder_product(A, tau)


@householder_product.defjvp
def _product_jvp(primals, tangents):
    A = primals[0]
    start = jnp.broadcast_to(jnp.eye(*A.shape[-2:], dtype=A.dtype), A.shape)
    return jax.jvp(lambda A, tau: reflect(A, tau, start, False), primals, tangents)


@op("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", **LINALG, grad="LinalgHouseholderProductBackward0",
    grad_back=each_back("Tril"), strides=columns(), saves=("input", "tau", "result"))
def linalg_householder_product(input, tau):
    """The first columns of a product of Householder reflections, as geqrf returns them."""
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
                           f"input.ndim is equal to {input.ndim}")
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}")
    if input.dtype != tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {P.c_name(tau.dtype)} does not match input dtype {P.c_name(input.dtype)}")
    kernel("orgqr_cpu", input)
    return householder_product(input, tau) if input.size else input


@op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", grad="GeqrfBackward0", grad_for=real_alone, strides=columns(0), pushes=False,
    back_refuses=lambda inst, needs: NotImplementedError("the derivative for 'geqrf' is not implemented."),
    rule=lambda ct, self: [jnp.zeros_like(self)])
def geqrf(self):
    """QR as LAPACK leaves it: R, the reflections below it, and their factors."""
    if self.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    kernel("geqrf_cpu", self)
    k = min(self.shape[-2:])
    if not self.size:
        return self, jnp.zeros(self.shape[:-2] + (k,), self.dtype)
    packed, tau = jnp.linalg.qr(self, mode="raw")
    return mT(packed), tau


@jax.custom_jvp
def apply_left(A, tau, C):
    """Q C with the whole Q of the reflections."""
    return reflect(A, tau, C, False) if jnp.iscomplexobj(A) else jax.lax.linalg.ormqr(A, tau, C)


@apply_left.defjvp
def _apply_left_jvp(primals, tangents):
    return jax.jvp(lambda A, tau, C: reflect(A, tau, C, False), primals, tangents)


@jax.custom_jvp
def apply_adjoint(A, tau, C):
    """Q^H C with the whole Q of the reflections."""
    return reflect(A, tau, C, True) if jnp.iscomplexobj(A) else jax.lax.linalg.ormqr(A, tau, C, transpose=True)


@apply_adjoint.defjvp
def _apply_adjoint_jvp(primals, tangents):
    return jax.jvp(lambda A, tau, C: reflect(A, tau, C, True), primals, tangents)


@op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", grad="OrmqrBackward0",
    grad_back=each_back("Tril", None, "Ormqr"),
    strides=columns(), twice="zeros", pushes=False, saves=("self", "input2", "input3", "result"))
def ormqr(self, input2, input3, left, transpose):
    """Q input3 or input3 Q (adjoint with `transpose`), with Q the product of the reflections that geqrf returns."""
    name = "torch.ormqr"
    for what, x in (("input", self), ("other", input3)):
        if x.ndim < 2:
            raise RuntimeError(f"{name}: {what} must have at least 2 dimensions.")
    side = input3.shape[-2 if left else -1]
    which = f"other.shape[{-2 if left else -1}]"
    if side < input2.shape[-1]:
        raise RuntimeError(f"{name}: {which} must be greater than or equal to tau.shape[-1]")
    if side != self.shape[-2]:
        raise RuntimeError(f"{name}: {which} must be equal to input.shape[-2]")
    if input2.shape[-1] != min(side, self.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min({which}, input.shape[-1])")
    if self.ndim - input2.ndim != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {input2.ndim} and "
                           f"input.ndim is equal to {self.ndim}")
    if self.ndim != input3.ndim:
        raise RuntimeError(f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
                           f"{input3.ndim} and input.ndim is equal to {self.ndim}")
    if input3.shape[:-2] != self.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
                           f"{list(input3.shape[:-2])}")
    if self.dtype != input2.dtype or self.dtype != input3.dtype:
        what, x = ("tau", input2) if self.dtype != input2.dtype else ("other", input3)
        raise RuntimeError(f"{name}: Expected input and {what} to have the same dtype, but input has dtype {P.c_name(self.dtype)} and "
                           f"{what} has dtype {P.c_name(x.dtype)}")
    kernel("ormqr_cpu", self)
    if not input3.size or not input2.size:
        return input3
    if left:
        return (apply_adjoint if transpose else apply_left)(self, input2, input3)
    return mH((apply_left if transpose else apply_adjoint)(self, input2, mH(input3)))
