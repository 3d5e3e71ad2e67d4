"""RAdam: Adam with a rectified variance (Liu et al., 2020, arXiv:1908.03265)."""
from __future__ import annotations

import jax.numpy as jnp

from ._functional import functional
from ._update import Update, add, add_scaled, addcmul, div, downhill, lerp, mul, nearer_end, root, wide
from .optimizer import SteppedOptimizer, check, check_betas, check_lr, flags_of


def _radam(p, g, m, v, numbers, flags):
    lr, correction, scale, rectified, keep, more1, beta2, more2, eps, weight_decay, plain, divisor = numbers
    g = downhill(p, g, weight_decay, flags)
    if "weight_decay" in flags and "decoupled_weight_decay" in flags:
        p = mul(p, keep, flags)
    m = lerp(m, g, more1, flags)
    v = addcmul(mul(v, beta2, flags), g, g, more2)
    if "foreach" in flags:
        return addcmul(p, m, add(_over(1, div(add(root(v), eps), divisor)), plain), 1), m, v
    step = mul(div(m, correction), lr)
    adapted = mul(mul(step, _over(scale, add(root(v), eps))), rectified)
    step = jnp.where(rectified != 0, adapted, step)
    return add_scaled(p, step, -1), m, v


def _over(x, y):
    """A number over an array, in the array's dtype."""
    return (x / wide(y)).astype(y.dtype)


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
        rectified = 0.0
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        rate = lr / (1 - beta1 ** step)
        return (lr, 1 - beta1 ** step, correction ** 0.5, rectified, 1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2,
                group["eps"], weight_decay, 0.0 if rectified else -rate, -correction ** 0.5 * rate * rectified)

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay", "decoupled_weight_decay") + nearer_end(1 - group["betas"][0])


radam = functional(RAdam, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
                   "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
                   "beta1 beta2 lr weight_decay eps")
