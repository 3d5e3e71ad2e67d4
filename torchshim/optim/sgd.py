"""Stochastic gradient descent with momentum (Sutskever et al., 2013, in torch's variant)."""
from __future__ import annotations

from .optimizer import Optimizer, Update, check, number, refuse, with_grads


def _sgd(params, grads, *rest):
    *states, numbers, flags = rest
    lr, momentum, dampening, weight_decay = numbers
    out, buffers = [], []
    for k, (p, g) in enumerate(zip(params, grads)):
        c = lambda x: x.astype(p.dtype)        # a number in the parameter's dtype, as torch's kernels take it
        if "maximize" in flags:
            g = -g
        if "weight_decay" in flags:
            g = g + p * c(weight_decay)
        if "momentum" in flags:
            if "first" in flags:
                b = g
            else:
                b = states[0][k] * c(momentum) + g * c(1 - dampening)
            buffers.append(b)
            g = g + b * c(momentum) if "nesterov" in flags else b
        out.append(p - g * c(lr))
    return (out, buffers) if buffers else (out,)


UPDATE = Update("sgd_step", _sgd)


class SGD(Optimizer):
    """p -= lr * v, where v is the gradient, or with momentum: v = momentum * v + (1 - dampening) * gradient."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check(not number(lr) < 0, f"Invalid learning rate: {lr}")
        check(not momentum < 0, f"Invalid momentum value: {momentum}")
        check(not weight_decay < 0, f"Invalid weight_decay value: {weight_decay}")
        refuse("SGD", differentiable=differentiable)
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            params, grads = with_grads(group)
            if not params:
                continue
            flags = tuple(k for k in ("maximize", "weight_decay", "momentum", "nesterov") if group[k])
            numbers = (number(group["lr"]), number(group["momentum"]), number(group["dampening"]), number(group["weight_decay"]))
            if not group["momentum"]:
                UPDATE(params, grads, [], numbers, flags)
                continue
            fresh = [k for k, p in enumerate(params) if self.state[p].get("momentum_buffer") is None]
            if fresh:
                made = UPDATE([params[k] for k in fresh], [grads[k] for k in fresh], [], numbers, flags + ("first",))
                for k, b in zip(fresh, made):
                    self.state[params[k]]["momentum_buffer"] = b
            if len(fresh) < len(params):
                old = [k for k in range(len(params)) if k not in set(fresh)]
                ps = [params[k] for k in old]
                UPDATE(ps, [grads[k] for k in old], [[self.state[p]["momentum_buffer"] for p in ps]], numbers, flags)
        return loss
