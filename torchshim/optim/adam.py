"""Adam (Kingma & Ba, 2015, arXiv:1412.6980) and AMSGrad (Reddi et al., 2018)."""
from __future__ import annotations

import jax.numpy as jnp

from ..tensor.core.tensor import Tensor
from ._functional import functional
from ._update import Update, add, addcdiv, addcmul, div, downhill, lerp, mul, nearer_end, root
from .optimizer import SteppedOptimizer, check, check_betas, check_fused, check_lr, flags_of


def _adam(p, g, m, v, *rest):
    *maxima, (step_size, keep, more1, beta2, more2, scale, eps, weight_decay), flags = rest
    g = downhill(p, g, weight_decay, flags)
    if "weight_decay" in flags and "decoupled_weight_decay" in flags:
        p = mul(p, keep, flags)
    m = lerp(m, g, more1, flags)
    v = addcmul(mul(v, beta2, flags), g, g, more2)
    top = [jnp.maximum(x, v) for x in maxima]
    return addcdiv(p, m, add(div(root(top[0] if top else v), scale), eps), -step_size), m, v, *top


class Adam(SteppedOptimizer):
    """Steps of the running mean of gradients over the root of the running mean of their squares, bias-corrected."""
    update = Update("adam_step", _adam)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check(not (isinstance(lr, Tensor) and foreach and not capturable),
              "lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        kinds = [isinstance(b, Tensor) for b in betas]
        check(kinds == [True, True] or all(isinstance(b, float) for b in betas), "betas must be either both floats or both Tensors")
        for k, b in enumerate(betas):
            check(not (kinds[k] and foreach and not capturable),
                  f"betas[{k}] as a Tensor is not supported for capturable=False and foreach=True")
            check(not kinds[k] or b.numel() == 1, f"Tensor betas[{k}] must be 1-element")
        betas = tuple([b.squeeze() if k and b.dim() else b for k, b in zip(kinds, betas)])
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))
        check_fused(self, fused, differentiable, foreach)

    def _names(self, group, p):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _numbers(self, group, step):
        lr, (beta1, beta2), weight_decay = group["lr"], group["betas"], group["weight_decay"]
        return (lr / (1 - beta1 ** step), 1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2, (1 - beta2 ** step) ** 0.5, group["eps"],
                weight_decay)

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay", "decoupled_weight_decay") + nearer_end(1 - group["betas"][0])


adam = functional(Adam, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
                  "foreach capturable differentiable fused grad_scale found_inf has_complex decoupled_weight_decay",
                  "amsgrad beta1 beta2 lr weight_decay eps maximize")
