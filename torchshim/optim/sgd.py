"""Stochastic gradient descent with momentum (Sutskever et al., 2013, in torch's variant)."""
from __future__ import annotations

from ..autograd.grad_mode import grad_mode
from ..ops.promotion import c_name
from ..tensor.core.handle import meta
from ..tensor.core.tensor import Tensor
from ._functional import functional
from ._update import Update, add_scaled, downhill, mul, number
from .optimizer import Optimizer, check, check_first, check_fused, flags_of, kernels_of, sparse_and_dense, with_grads


def _sgd(p, g, *rest):
    *buffer, (lr, momentum, more, weight_decay), flags = rest
    g = downhill(p, g, weight_decay, flags)
    if "momentum" not in flags:
        return (add_scaled(p, g, -lr),)
    b = g if "first" in flags else add_scaled(mul(buffer[0], momentum, flags), g, more)
    return add_scaled(p, add_scaled(g, b, momentum) if "nesterov" in flags else b, -lr), b


def _sparse_step(p, g, state, group):
    """One step for a sparse gradient: only the rows that it has change. With a momentum the buffer is sparse too."""
    with grad_mode(False):
        g = -g if group["maximize"] else g
        if group["weight_decay"]:
            g = g.add(p, alpha=group["weight_decay"])
        if state is not None:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = g.clone().detach()
            else:
                buffer.mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
            g = g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        p.add_(g, alpha=-number(group["lr"]))


class SGD(Optimizer):
    """p -= lr * v, where v is the gradient, or with momentum: v = momentum * v + (1 - dampening) * gradient."""
    update = Update("sgd_step", _sgd)

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):
        check(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
        check(not (lr.item() if isinstance(lr, Tensor) else lr) < 0.0, f"Invalid learning rate: {lr}")
        check(not momentum < 0, f"Invalid momentum value: {momentum}")
        check(not weight_decay < 0, f"Invalid weight_decay value: {weight_decay}")
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))
        check_fused(self, fused, differentiable, foreach)

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            self._update_all(group, *with_grads(group))
        return loss

    def _update_all(self, group, params, grads):
        if params:
            check_first(self, group, params[0])
        sparse, params, grads = sparse_and_dense(params, grads)
        if group.get("fused"):
            if sparse:
                raise RuntimeError("`_fused_sgd` does not support sparse gradients")
            odd = next((p for p in params if not p.is_floating_point()), None)
            if odd is not None:
                raise NotImplementedError(f"\"fused_sgd_kernel\" not implemented for '{c_name(meta(odd).dtype)}'")
        for p, g in sparse:
            _sparse_step(p, g, self.state[p] if group["momentum"] else None, group)
        if not params:
            return
        update = self.update.with_graph if group["differentiable"] else self.update
        flags = flags_of(group, "maximize", "weight_decay", "momentum", "nesterov") + kernels_of(group, params[0], "foreach")
        numbers = (group["lr"], group["momentum"], 1 - group["dampening"], group["weight_decay"])
        if not group["momentum"]:
            update(params, grads, [], numbers, flags)
            return
        buffers = [self.state[p].get("momentum_buffer") for p in params]
        fresh = [k for k, b in enumerate(buffers) if b is None]
        if not fresh:
            update(params, grads, [buffers], numbers, flags)
        else:
            made = update([params[k] for k in fresh], [grads[k] for k in fresh], [], numbers, flags + ("first",))
            for k, b in zip(fresh, made):
                self.state[params[k]]["momentum_buffer"] = b
            old = [k for k, b in enumerate(buffers) if b is not None]
            if old:
                update([params[k] for k in old], [grads[k] for k in old], [[buffers[k] for k in old]], numbers, flags)

    @classmethod
    def run_lists(cls, group, params, grads, entries):
        """One step for parameters with a list of momentum buffers, whose None are replaced."""
        self, buffers = object.__new__(cls), entries["momentum_buffer"]
        self.state = {p: {"momentum_buffer": b} for p, b in zip(params, buffers or [None] * len(params))}
        there = [k for k, g in enumerate(grads) if g is not None]
        self._update_all(group, [params[k] for k in there], [grads[k] for k in there])
        if group["momentum"]:
            buffers[:] = [self.state[p]["momentum_buffer"] for p in params]


sgd = functional(SGD, {"momentum_buffer_list": "momentum_buffer"}, "has_sparse_grad foreach fused grad_scale found_inf",
                 "weight_decay momentum lr dampening nesterov maximize", differentiable=False)
