"""NAdam: Adam with Nesterov's momentum (Dozat, 2016)."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..tensor.core.tensor import Tensor
from ._functional import functional
from ._update import Update, add, addcdiv, addcmul, div, downhill, lerp, mul, nearer_end, number, root
from .optimizer import SteppedOptimizer, check, check_betas, check_lr, flags_of


def _nadam(p, g, m, v, numbers, flags):
    of_grad, of_mean, keep, more1, beta2, more2, correction, eps, weight_decay = numbers
    g = downhill(p, g, weight_decay, flags)
    if "weight_decay" in flags and "decoupled_weight_decay" in flags:
        p = mul(p, keep, flags)
    m = lerp(m, g, more1, flags)
    v = addcmul(mul(v, beta2, flags), g, g, more2)
    scale = add(div(root(v), jnp.sqrt(correction)) if "foreach" in flags else root(div(v, correction)), eps)
    return addcdiv(addcdiv(p, g, scale, -of_grad), m, scale, -of_mean), m, v


class NAdam(SteppedOptimizer):
    """Adam whose step looks ahead by a momentum that changes over time; its product so far is part of the state."""
    captured = ("params, mu_products and state_steps", "params, mu_products, and state_steps")
    update = Update("nadam_step", _nadam)
    scalars = {"step": 0.0, "mu_product": 1.0}

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(0.0 <= momentum_decay, f"Invalid momentum_decay value: {momentum_decay}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable))

    def _names(self, group, p):
        return "exp_avg", "exp_avg_sq"

    def _scalar(self, state, name):
        """The product of momenta knows its precision, which a file may have changed."""
        x = state[name].item()
        return x if name == "step" else state[name].dtype.np.type(x)

    def _numbers(self, group, step, product):
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        momentum = lambda t: beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
        now, then = momentum(step), momentum(step + 1)
        if isinstance(product, Tensor):
            product.mul_(now)
        else:
            kind = type(product)                               # of what the state keeps, which torch multiplies in place
            wide = np.float64 if kind is np.float64 else np.float32
            product = float(kind(wide(product) * wide(number(now))))
        numbers = (lr * (1.0 - now) / (1.0 - product), lr * then / (1.0 - product * then), 1 - lr * weight_decay, 1 - beta1, beta2,
                   1 - beta2, 1 - beta2 ** step, group["eps"], weight_decay)
        return numbers, (product,)

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay", "decoupled_weight_decay") + nearer_end(1 - group["betas"][0])


nadam = functional(NAdam, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "mu_products": "mu_product", "state_steps": "step"},
                   "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
                   "beta1 beta2 lr weight_decay momentum_decay eps")
