"""Adafactor (Shazeer & Stern, 2018, arXiv:1804.04235) with torch's use of the learning rate."""
from __future__ import annotations

import jax.numpy as jnp

from ..tensor.api.creation import zeros_like
from ..tensor.core.dtype import finfo
from .optimizer import SteppedOptimizer, Update, check, check_lr, flags_of, with_grads


def _adafactor(p, g, *rest):
    *variance, (rho, more, keep, eps1, eps2, d), flags = rest
    if "maximize" in flags:
        g = -g
    alpha = jnp.maximum(eps2, jnp.sqrt(jnp.sum(p * p)) / p.size ** 0.5) * rho
    if "weight_decay" in flags:
        p = p * keep
    if "factored" in flags:
        row, col = variance
        row = row + (jnp.mean(g * g, -1, keepdims=True) - row) * more
        col = col + (jnp.mean(g * g, -2, keepdims=True) - col) * more
        variance = [row, col]
        estimate = row @ col / jnp.maximum(jnp.mean(row, -2, keepdims=True), eps1)
    else:
        variance = [variance[0] + (g * g - variance[0]) * more]
        estimate = variance[0]
    step = g / jnp.sqrt(jnp.maximum(estimate, eps1 * eps1))
    limit = jnp.maximum(1, jnp.sqrt(jnp.sum(step * step)) / (step.size ** 0.5 * d))
    return p - step * (alpha / limit), *variance


class Adafactor(SteppedOptimizer):
    """Adam without momentum whose second moments of matrices are products of a row and a column; steps are relative to the
    parameters' sizes."""
    update = Update("adafactor_step", _adafactor)

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(0.0 >= beta2_decay, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or 0.0 <= eps[0], f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(0.0 <= eps[1], f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(1.0 <= d, f"Clipping threshold d should be >= 1 but is: {d}")
        check(0.0 <= weight_decay, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize))

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        if any(p.is_complex() for group in self.param_groups for p in with_grads(group)[0]):
            raise RuntimeError("Adafactor does not support complex parameters")
        return super().step(closure)

    def _names(self, group, p):
        return ("row_var", "col_var") if p.dim() > 1 else ("variance",)

    def _fresh(self, p, group):
        if p.dim() <= 1:
            return {"variance": zeros_like(p).detach()}
        *batch, rows, cols = p.shape
        return {"row_var": p.grad.new_zeros([*batch, rows, 1]), "col_var": p.grad.new_zeros([*batch, 1, cols])}

    def _numbers(self, group, step):
        lr, (eps1, eps2) = group["lr"], group["eps"]
        if eps1 is None:
            eps1 = finfo(next(p for p in group["params"] if p.grad is not None).dtype).eps
        return (min(lr, 1 / step ** 0.5), step ** group["beta2_decay"], 1 - lr * group["weight_decay"], eps1, eps2, group["d"])

    def _flags(self, group, p):
        return flags_of(group, "maximize", "weight_decay") + (("factored",) if p.dim() > 1 else ())
