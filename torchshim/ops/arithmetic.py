"""Arithmetic on elements: sums, products, quotients, powers, rounding, clamping."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .registry import op


def scaled(x, alpha):
    """alpha * x, where the default 1 comes as the static Python number."""
    return x if alpha.__class__ is int else x * alpha


@op("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promote="arith", grad="AddBackward0", inplace=True, scalar_left=True)
def add(self, other, alpha):
    """self + alpha * other."""
    if self.dtype == jnp.bool_:
        return self | other
    return self + scaled(other, alpha)


@op("sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promote="arith", grad="SubBackward0", inplace=True, scalar_left=True,
    aliases=("subtract",))
def sub(self, other, alpha):
    """self - alpha * other."""
    if self.dtype == jnp.bool_:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                           "operator instead.")
    return self - scaled(other, alpha)


@op("rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promote="arith", grad="RsubBackward1")
def rsub(self, other, alpha):
    """other - alpha * self."""
    if self.dtype == jnp.bool_:
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
                           "use the `~` or `logical_not()` operator instead.")
    return other - scaled(self, alpha)


@op("mul(Tensor self, Tensor other) -> Tensor", promote="arith", grad="MulBackward0", inplace=True, scalar_left=True,
    aliases=("multiply",))
def mul(self, other):
    """self * other."""
    return self & other if self.dtype == jnp.bool_ else self * other


@op("exp(Tensor self) -> Tensor", promote="float", grad="ExpBackward0", inplace=True)
def exp(self):
    """e to the power of each element."""
    return jnp.exp(self)


@op("matmul(Tensor self, Tensor other) -> Tensor", grad="MmBackward0")
def matmul(self, other):
    return jnp.matmul(self, other)


@op("sum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad="SumBackward0")
def sum(self, dim, keepdim, dtype):
    return jnp.sum(self, axis=dim, keepdims=keepdim)
