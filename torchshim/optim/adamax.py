"""Adamax (Kingma & Ba, 2015, arXiv:1412.6980, section 7)."""
from __future__ import annotations

import jax.numpy as jnp

from ._functional import functional
from ._update import Update, add, addcdiv, downhill, lerp, mul, nearer_end
from .optimizer import SteppedOptimizer, check, check_betas, check_lr


def _adamax(p, g, m, u, numbers, flags):
    lr, more1, beta2, eps, weight_decay = numbers
    g = downhill(p, g, weight_decay, flags)
    m = lerp(m, g, more1, flags)
    u = jnp.maximum(mul(u, beta2, flags), add(jnp.abs(g), eps))
    return addcdiv(p, m, u, -lr), m, u


class Adamax(SteppedOptimizer):
    """Adam with the decayed largest gradient in place of the root of the mean of squares."""
    update = Update("adamax_step", _adamax)

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _names(self, group, p):
        return "exp_avg", "exp_inf"

    def _numbers(self, group, step):
        beta1, beta2 = group["betas"]
        return group["lr"] / (1 - beta1 ** step), 1 - beta1, beta2, group["eps"], group["weight_decay"]

    def _flags(self, group, p):
        return super()._flags(group, p) + nearer_end(1 - group["betas"][0])


adamax = functional(Adamax, {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
                    "foreach maximize differentiable capturable has_complex",
                    "eps beta1 beta2 lr weight_decay")
