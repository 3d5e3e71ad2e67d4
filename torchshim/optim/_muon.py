"""Muon: momentum made orthogonal by Newton and Schulz's iteration (Jordan et al., 2024)."""
from __future__ import annotations

import math

import jax.numpy as jnp

from ..tensor.api.creation import zeros_like
from ._update import Update, add_scaled, lerp, mul, nearer_end, number
from .optimizer import Optimizer, check, check_lr, with_grads


def _muon(p, g, b, numbers, flags):
    lr, keep, momentum, more, eps = numbers
    ratio, nesterov, coefficients, rounds, near = flags
    b = lerp(b, g, more, near[0])
    step = _orthogonal(lerp(g, b, momentum, near[1]) if nesterov else b, coefficients, rounds, eps)
    return add_scaled(mul(p, keep), step, -lr * _lr_ratio(ratio, p.shape)), b


def _orthogonal(x, coefficients, rounds, eps):
    """The singular values of a matrix driven towards 1, in bfloat16."""
    a, b, c = coefficients
    short = jnp.bfloat16
    tall = x.shape[0] > x.shape[1]
    x = x.astype(short)
    x = x.T if tall else x
    wide = x.astype(jnp.float32)
    norm = jnp.sqrt(jnp.sum(wide * wide)).astype(short)
    x = (wide / jnp.maximum(norm.astype(jnp.float32), eps.astype(jnp.float32))).astype(short)
    dot = lambda x, y: jnp.matmul(x.astype(jnp.float32), y.astype(jnp.float32))
    for _ in range(rounds):
        gram = dot(x, x.T).astype(short)
        grown = (b * gram.astype(jnp.float32) + c * dot(gram, gram)).astype(short)
        x = (a * x.astype(jnp.float32) + dot(grown, x)).astype(short)
    return x.T if tall else x


def _lr_ratio(name, shape):
    """What makes the root mean square of the steps alike for matrices of different shapes."""
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(shape))
    return math.sqrt(max(1, shape[0] / shape[1]))


class Muon(Optimizer):
    """Steps along the running mean of gradients with all its singular values near 1; for matrices only."""
    __module__ = "torchshim.optim"
    update = Update("muon_step", _muon, elementwise=False)

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.7750, 2.0315),
                 eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(0.0 <= momentum, f"momentum should be >= 0 but is: {momentum}")
        check(0.0 <= weight_decay, f"weight decay should be >= 0 but is: {weight_decay}")
        check(adjust_lr_fn in (None, "original", "match_rms_adamw"), f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for group in self.param_groups:
            for p in group["params"]:
                check(p.ndim == 2, f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._loss(closure)
        for group in self.param_groups:
            params, grads = with_grads(group)
            if not params:
                continue
            if any(p.is_complex() for p in params):
                raise RuntimeError("Muon does not support complex parameters")
            check(group["ns_steps"] < 100, "Number of steps must be less than 100 for computational efficiency")
            check(len(group["ns_coefficients"]) == 3, "Coefficients must be a tuple of exactly 3 values")
            check(all([g.ndim == 2 for g in grads]), "Param gradient must be a 2D matrix")
            for p in params:
                if "momentum_buffer" not in self.state[p]:
                    self.state[p]["momentum_buffer"] = zeros_like(p).detach()
            lr, momentum = number(group["lr"]), group["momentum"]
            self.update(params, grads, [[self.state[p]["momentum_buffer"] for p in params]],
                        (lr, 1 - lr * group["weight_decay"], momentum, 1 - momentum, group["eps"]),
                        (group["adjust_lr_fn"], bool(group["nesterov"]), tuple(group["ns_coefficients"]), group["ns_steps"],
                         (nearer_end(1 - momentum), nearer_end(momentum))))
        return loss
