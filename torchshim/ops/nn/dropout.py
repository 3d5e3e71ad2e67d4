"""Dropout with a mask that was drawn outside."""
from __future__ import annotations

import jax.numpy as jnp

from ..common import product, wide
from ..registry import op


@op("dropout_with(Tensor self, Tensor keep, float p) -> Tensor", grad="MulBackward0", nondiff=("keep",), elementwise=True, inplace=True,
    method=False, function=False, saved_as=lambda inst: ("self", "other"))
def dropout(self, keep, p):
    """self * keep / (1 - p), in torch's order of rounding; `keep` broadcasts."""
    noise = wide(keep.astype(self.dtype))
    noise = (noise / (1 - p).astype(noise.dtype)).astype(self.dtype)
    return self * noise


@op("drop_all(Tensor self) -> Tensor", grad="MulBackward0", elementwise=True, inplace=True, method=False, function=False)
def drop_all(self):
    """self * 0."""
    return self * jnp.zeros((), self.dtype)


@op("alpha_dropout_with(Tensor self, Tensor keep, float p) -> Tensor", grad="AddBackward0", nondiff=("keep",), elementwise=True,
    inplace=True, method=False, function=False)
def alpha_dropout(self, keep, p):
    """Dropout that keeps mean and variance of SELU's outputs."""
    alpha = 1.7580993408473766
    a = 1 / jnp.sqrt((alpha * alpha * p + 1) * (1 - p))
    d = self.dtype
    k = keep.astype(d)
    return product(self, k * a.astype(d)) + (product(k - 1, (alpha * a).astype(d)) + (alpha * a * p).astype(d))


@op("native_dropout_with(Tensor self, Tensor keep, float p) -> Tensor", grad="NativeDropoutBackward0", nondiff=("keep",), elementwise=True,
    method=False, function=False)
def native_dropout(self, keep, p):
    """self * keep * (1 / (1 - p)), rounded in this order."""
    scale = jnp.where(p == 1, 0.0, 1 / jnp.where(p == 1, 1.0, 1 - p)).astype(self.dtype)
    return self * keep.astype(self.dtype) * scale
