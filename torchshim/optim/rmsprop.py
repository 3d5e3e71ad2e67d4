"""RMSprop (Hinton's lecture, 2012), centered as in Graves (2013, arXiv:1308.0850)."""
from __future__ import annotations

from ._functional import functional
from ._update import Update, add, add_scaled, addcdiv, addcmul, downhill, lerp, mul, nearer_end, root
from .optimizer import SteppedOptimizer, check, check_lr, flags_of


def _rmsprop(p, g, square, *rest):
    *states, (lr, alpha, more, eps, momentum, weight_decay), flags = rest
    g = downhill(p, g, weight_decay, flags)
    square = addcmul(mul(square, alpha, flags), g, g, more)
    out = [square]
    if "centered" in flags:
        mean = states[-1]
        mean = lerp(mean, g, more, flags)
        scale = add(root(addcmul(square, mean, mean, -1)), eps)
    else:
        scale = add(root(square), eps)
    if "momentum" in flags:
        step = addcdiv(mul(states[0], momentum, flags), g, scale, 1)
        out.append(step)
        p = add_scaled(p, step, -lr)
    else:
        p = addcdiv(p, g, scale, -lr)
    if "centered" in flags:
        out.append(mean)
    return p, *out


class RMSprop(SteppedOptimizer):
    """Gradients over the root of the running mean of their squares; centered: of their variance."""
    captured_on_xla = (True, True)
    update = Update("rmsprop_step", _rmsprop)

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check(0.0 <= momentum, f"Invalid momentum value: {momentum}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(0.0 <= alpha, f"Invalid alpha value: {alpha}")
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                                      capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def _names(self, group, p):
        return ("square_avg", *(["momentum_buffer"] if group["momentum"] > 0 else []), *(["grad_avg"] if group["centered"] else []))

    def _numbers(self, group, step):
        alpha = group["alpha"]
        return group["lr"], alpha, 1 - alpha, group["eps"], group["momentum"], group["weight_decay"]

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay", "momentum", "centered") + nearer_end(1 - group["alpha"])


rmsprop = functional(RMSprop, {"square_avgs": "square_avg", "grad_avgs": "grad_avg", "momentum_buffer_list": "momentum_buffer",
                               "state_steps": "step"},
                     "foreach maximize differentiable capturable has_complex",
                     "lr alpha eps weight_decay momentum centered")
