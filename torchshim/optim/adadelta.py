"""Adadelta (Zeiler, 2012, arXiv:1212.5701)."""
from __future__ import annotations

from ._functional import functional
from ._update import Update, add, add_scaled, addcmul, div, downhill, mul, root
from .optimizer import SteppedOptimizer, check, check_lr


def _adadelta(p, g, square, delta, numbers, flags):
    lr, rho, more, eps, weight_decay = numbers
    g = downhill(p, g, weight_decay, flags)
    square = addcmul(mul(square, rho, flags), g, g, more)
    step = mul(div(root(add(delta, eps)), root(add(square, eps))), g)
    return add_scaled(p, step, -lr), square, addcmul(mul(delta, rho, flags), step, step, more)


class Adadelta(SteppedOptimizer):
    """Gradients scaled by the running root mean squares of past steps over past gradients."""
    captured_on_xla = (False, False)
    update = Update("adadelta_step", _adadelta)

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_lr(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                                      foreach=foreach, differentiable=differentiable))

    def _names(self, group, p):
        return "square_avg", "acc_delta"

    def _numbers(self, group, step):
        rho = group["rho"]
        return group["lr"], rho, 1 - rho, group["eps"], group["weight_decay"]


adadelta = functional(Adadelta, {"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
                      "capturable foreach differentiable has_complex",
                      "lr rho eps weight_decay maximize")
