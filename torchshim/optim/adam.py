"""Adam (Kingma & Ba, 2015, arXiv:1412.6980), AMSGrad (Reddi et al., 2018) and AdamW (Loshchilov & Hutter, arXiv:1711.05101)."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ..tensor.api.creation import zeros_like
from .optimizer import Optimizer, Update, check, number, refuse, set_steps, step_tensor, with_grads


def _adam(params, grads, means, squares, *rest):
    *maxima, numbers, flags = rest
    if any([p.dtype.kind == "c" for p in params]):
        return _on_parts(params, grads, means, squares, *rest)
    lr, keep, beta1, beta2, step_size, root, eps, weight_decay = numbers
    out, new_means, new_squares, new_maxima = [], [], [], []
    for k, (p, g, m, v) in enumerate(zip(params, grads, means, squares)):
        c = lambda x: x.astype(p.dtype if p.dtype.kind != "c" else p.real.dtype)
        if "maximize" in flags:
            g = -g
        if "weight_decay" in flags:
            if "decoupled" in flags:
                p = p * c(keep)
            else:
                g = g + p * c(weight_decay)
        m = m + (g - m) * c(1 - beta1)
        v = v * c(beta2) + (g * jnp.conj(g)).astype(v.dtype) * c(1 - beta2)
        new_means.append(m)
        new_squares.append(v)
        if maxima:
            v = jnp.maximum(maxima[0][k], v)
            new_maxima.append(v)
        out.append(p - m / (jnp.sqrt(v) / c(root) + c(eps)) * c(step_size))
    return (out, new_means, new_squares) + ((new_maxima,) if maxima else ())


def _on_parts(*args):
    """`_adam` with complex arrays taken apart: their parts are numbers of their own."""
    *groups, numbers, flags = args
    apart = lambda x: jnp.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x
    made = _adam(*[[apart(x) for x in group] for group in groups], numbers, flags)
    return tuple([[jax.lax.complex(x[..., 0], x[..., 1]) if p.dtype.kind == "c" else x for p, x in zip(groups[0], group)] for group in made])


UPDATE = Update("adam_step", _adam)


class Adam(Optimizer):
    """Steps of the running mean of gradients over the root of the running mean of their squares, bias-corrected."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check(0.0 <= number(lr), f"Invalid learning rate: {lr}")
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check(0.0 <= number(betas[0]) < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
        check(0.0 <= number(betas[1]) < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        refuse(type(self).__name__, differentiable=differentiable)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            params, grads = with_grads(group)
            if not params:
                continue
            by_step = {}
            for p, g in zip(params, grads):
                s = self.state[p]
                if not s:
                    s["step"] = step_tensor(0)
                    s["exp_avg"], s["exp_avg_sq"] = zeros_like(p).detach(), zeros_like(p).detach()
                    if group["amsgrad"]:
                        s["max_exp_avg_sq"] = zeros_like(p).detach()
                by_step.setdefault(s["step"].item(), []).append((p, g, s))
            for step, rows in by_step.items():
                self._update(group, step + 1, *zip(*rows))
        return loss

    def _update(self, group, step, params, grads, states):
        set_steps([s["step"] for s in states], step)
        lr, (beta1, beta2) = number(group["lr"]), map(number, group["betas"])
        weight_decay = group["weight_decay"]
        numbers = (lr, 1 - lr * weight_decay, beta1, beta2, lr / (1 - beta1 ** step), (1 - beta2 ** step) ** 0.5, group["eps"],
                   weight_decay)
        flags = tuple(f for f, on in (("maximize", group["maximize"]), ("weight_decay", weight_decay),
                                      ("decoupled", group["decoupled_weight_decay"])) if on)
        names = ["exp_avg", "exp_avg_sq"] + (["max_exp_avg_sq"] if group["amsgrad"] else [])
        UPDATE(params, grads, [[s[n] for s in states] for n in names], tuple(map(float, numbers)), flags)


class AdamW(Adam):
    """Adam with weight decay applied to the parameters, not to the gradients."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
