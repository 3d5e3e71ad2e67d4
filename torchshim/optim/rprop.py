"""Resilient backpropagation (Riedmiller & Braun, 1993)."""
from __future__ import annotations

import jax.numpy as jnp

from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.creation import zeros_like
from ._functional import functional
from ._update import Update, addcmul, mul, number, wide
from .optimizer import SteppedOptimizer, check, check_lr, flags_of


def _rprop(p, g, before, size, numbers, flags):
    shrink, grow, least, most = numbers
    if "maximize" in flags:
        g = -g
    turned = jnp.sign(mul(g, before))
    factor = jnp.where(turned > 0, grow, jnp.where(turned < 0, shrink, 1)).astype(size.dtype)
    size = jnp.clip(wide(mul(size, factor)), least, most).astype(size.dtype)
    g = jnp.where(turned < 0, 0, g)
    return addcmul(p, jnp.sign(g), size, -1), g, size


class Rprop(SteppedOptimizer):
    """Steps in the gradient's direction whose sizes grow while its sign stays and shrink when it turns."""
    captured_on_xla = (True, True)
    update = Update("rprop_step", _rprop)

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _names(self, group, p):
        return "prev", "step_size"

    def _fresh(self, p, group):
        lr = number(group["lr"])
        size = FUNCTIONS["full_like"](p, complex(lr, lr) if p.is_complex() else lr)
        return {"prev": zeros_like(p).detach(), "step_size": size.detach()}

    def _numbers(self, group, step):
        return *group["etas"], *group["step_sizes"]

    def _flags(self, group, p):
        return flags_of(group, "maximize")


rprop = functional(Rprop, {"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
                   "foreach capturable maximize differentiable has_complex",
                   "step_size_min step_size_max etaminus etaplus")
