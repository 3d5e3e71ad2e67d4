"""Steps of optimizers where operators are dispatched: parameter by parameter, with the operators of torch's plain loops."""
from __future__ import annotations

import torchshim as torch

from ..autograd.grad_mode import grad_mode
from ..dropin.names import is_torch, is_torchshim
from ..tensor.core.memory_format import FORMATS
from .python import state, tensors_in, wanted


def seen(optimizer, func):
    """Whether somebody wants to see the operators of a step that is written without them."""
    module = func.__module__ or ""
    if not (is_torch(module) or is_torchshim(module)) or state().off:
        return False
    return wanted(tensors_in([p for group in optimizer.param_groups for p in group["params"]]), {})


def step(optimizer, closure=None):
    """One update; returns the closure's loss. NotImplementedError for optimizers and options that are not known here."""
    kind = type(optimizer)
    update = _sgd if isinstance(optimizer, torch.optim.SGD) else _adam if isinstance(optimizer, torch.optim.Adam) else None
    groups = optimizer.param_groups
    if update is None or any([g.get("amsgrad") or g["differentiable"] or g.get("capturable") or g["foreach"] or g["fused"]
                              for g in groups]):
        raise NotImplementedError(f"torchshim: {kind.__name__}.step with these options under __torch_dispatch__")
    loss = None
    if closure is not None:
        with grad_mode(True):
            loss = closure()
    with grad_mode(False):
        for group in groups:
            update(optimizer, group, [p for p in group["params"] if p.grad is not None])
    return loss


def _sgd(optimizer, group, params):
    lr, momentum, weight_decay = group["lr"], group["momentum"], group["weight_decay"]
    for p in params:
        g = -p.grad if group["maximize"] else p.grad
        if weight_decay:
            g = g.add(p, alpha=weight_decay)
        if momentum:
            kept = optimizer.state[p].get("momentum_buffer")
            if kept is None:
                kept = optimizer.state[p]["momentum_buffer"] = g.detach().clone()
            else:
                kept.mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g.add(kept, alpha=momentum) if group["nesterov"] else kept
        p.add_(g, alpha=-lr)


def _adam(optimizer, group, params):
    for p in params:
        kept = optimizer.state[p]
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["exp_avg"] = torch.zeros_like(p, memory_format=FORMATS["preserve_format"])
            kept["exp_avg_sq"] = torch.zeros_like(p, memory_format=FORMATS["preserve_format"])
    (beta1, beta2), lr, weight_decay = group["betas"], group["lr"], group["weight_decay"]
    for p in params:
        kept, g = optimizer.state[p], -p.grad if group["maximize"] else p.grad
        kept["step"] += 1
        if weight_decay and group["decoupled_weight_decay"]:
            p.mul_(1 - lr * weight_decay)
        elif weight_decay:
            g = g.add(p, alpha=weight_decay)
        kept["exp_avg"].lerp_(g, 1 - beta1)
        kept["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        n = kept["step"].item()
        root = (1 - beta2 ** n) ** 0.5
        p.addcdiv_(kept["exp_avg"], (kept["exp_avg_sq"].sqrt() / root).add_(group["eps"]), value=-lr / (1 - beta1 ** n))
