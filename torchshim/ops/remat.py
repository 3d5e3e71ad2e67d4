"""Rematerialisation: computing again, when a gradient has come, what would have to be kept until then."""
from __future__ import annotations

import jax.numpy as jnp

from .layout import kept_strides
from .registry import op


@op("checkpointed.again(Tensor self, Tensor gradient, float zero, float nan) -> Tensor", grad="AliasBackward0", method=False,
    function=False, strides=lambda inst, self, *rest: kept_strides(self))
def again(self, gradient, zero, nan):
    """`self`, of which no compiler can know that it is, nor compute it before the gradient is there: zero (-0.0) and nan are numbers of
    the run. With XLA's own barrier the CPU's compiler finds that what follows was computed before, and keeps that."""
    if gradient.size:
        zero = jnp.where(jnp.real(gradient.ravel()[0]) == nan, 1, zero)
    return self + jnp.asarray(zero).astype(self.dtype)
