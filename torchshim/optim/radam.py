"""RAdam: Adam with a rectified variance (Liu et al., 2020, arXiv:1908.03265)."""
from __future__ import annotations

import jax.numpy as jnp

from ._functional import functional
from .optimizer import SteppedOptimizer, Update, check, check_betas, check_lr, flags_of


def _radam(p, g, m, v, numbers, flags):
    step_size, adaptive, plain, keep, more1, beta2, more2, eps, weight_decay = numbers
    if "maximize" in flags:
        g = -g
    if "weight_decay" in flags:
        if "decoupled_weight_decay" in flags:
            p = p * keep
        else:
            g = g + p * weight_decay
    m = m + (g - m) * more1
    v = v * beta2 + g * g * more2
    return p - m * step_size * jnp.where(plain != 0, 1, adaptive / (jnp.sqrt(v) + eps)), m, v


class RAdam(SteppedOptimizer):
    """Adam that waits with dividing by the root of the mean of squares until there are enough of them."""
    update = Update("radam_step", _radam)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _names(self, group, p):
        return "exp_avg", "exp_avg_sq"

    def _numbers(self, group, step):
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        correction = 1 - beta2 ** step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2 ** step / correction      # of the simple moving average that is approximated
        adaptive = 0.0
        if length > 5.0:
            adaptive = correction ** 0.5 * ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        return (lr / (1 - beta1 ** step), adaptive, float(length <= 5.0), 1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2,
                group["eps"], weight_decay)

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay", "decoupled_weight_decay")


radam = functional(RAdam, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
                   "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
                   "beta1 beta2 lr weight_decay eps")
