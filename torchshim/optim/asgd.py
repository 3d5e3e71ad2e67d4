"""Averaged stochastic gradient descent (Polyak & Juditsky, 1992)."""
from __future__ import annotations

from ._functional import functional
from ._update import Update, add, add_scaled, addcmul, downhill, mul
from .optimizer import SteppedOptimizer, check, check_lr


def _asgd(p, g, mean, numbers, flags):
    eta, keep, mu, weight_decay, lambd = numbers
    g = downhill(p, g, weight_decay, flags)
    if "foreach" in flags:
        p = addcmul(p, add_scaled(g, p, lambd), eta.astype(p.dtype), -1)
        return p, addcmul(mean, add_scaled(p, mean, -1), mu.astype(p.dtype), 1)
    p = add_scaled(mul(p, keep), g, -eta)
    return p, p if "begin" in flags else add(mean, mul(add_scaled(p, mean, -1), mu))


class ASGD(SteppedOptimizer):
    """Gradient descent with decaying steps; the mean of the parameters since step t0 is `ax` in the state."""
    captured = ("params, mus, etas, and state_steps",) * 2
    update = Update("asgd_step", _asgd)
    flags_differ = True
    scalars = {"step": 0.0, "eta": None, "mu": 1.0}

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _first_scalars(self, group):
        return {"step": 0.0, "eta": group["lr"], "mu": 1.0}

    def _names(self, group, p):
        return ("ax",)

    def _numbers(self, group, step, eta, mu):
        lr, lambd = group["lr"], group["lambd"]
        numbers = (eta, 1 - lambd * eta, mu, group["weight_decay"], lambd)
        return numbers, (lr / (1 + lambd * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"]))

    def _flags(self, group, p):
        begin = ("begin",) if not self.state[p] or self.state[p]["mu"].item() == 1 else ()
        return super()._flags(group, p) + begin


asgd = functional(ASGD, {"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"},
                  "foreach maximize differentiable capturable has_complex",
                  "lambd lr t0 alpha weight_decay")
