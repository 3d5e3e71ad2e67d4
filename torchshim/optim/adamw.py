"""AdamW (Loshchilov & Hutter, arXiv:1711.05101)."""
from __future__ import annotations

from ._functional import functional
from .adam import Adam


class AdamW(Adam):
    """Adam with weight decay applied to the parameters, not to the gradients."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


adamw = functional(AdamW, {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
                   "foreach capturable differentiable fused grad_scale found_inf has_complex",
                   "amsgrad beta1 beta2 lr weight_decay eps maximize", decoupled_weight_decay=True)
