"""Adafactor (Shazeer & Stern, 2018, arXiv:1804.04235) with torch's use of the learning rate."""
from __future__ import annotations

import jax.numpy as jnp

from ..tensor.api.creation import zeros_like
from ..tensor.core.dtype import finfo
from ._update import Update, add_scaled, div, lerp, mul, wide
from .optimizer import SteppedOptimizer, check, check_lr, flags_of


def _adafactor(p, g, *rest):
    *variance, (rho, more, keep, eps1, eps2, d), flags = rest
    if "maximize" in flags:
        g = -g
    kind = p.dtype
    alpha = jnp.maximum(eps2, wide(_norm(p)) / p.size ** 0.5) * rho
    if "weight_decay" in flags:
        p = mul(p, keep)
    if "factored" in flags:
        row, col = variance
        row = _lerp(row, _mean_square(g, -1), more)
        col = _lerp(col, _mean_square(g, -2), more)
        variance = [row, col]
        mean = jnp.mean(wide(row), -2, keepdims=True).astype(kind)
        estimate = div((wide(row) @ wide(col)).astype(kind), jnp.maximum(wide(mean), eps1).astype(kind))
    else:
        variance = [_lerp(variance[0], mul(g, g), more)]
        estimate = variance[0]
    step = mul((1 / jnp.sqrt(jnp.maximum(wide(estimate), eps1 * eps1).astype(kind))).astype(kind), g)
    limit = jnp.maximum(1, wide(_norm(step)) / (step.size ** 0.5 * d))
    return add_scaled(p, step, -alpha / limit), *variance


def _norm(x, axis=None):
    return jnp.sqrt(jnp.sum(jnp.square(wide(x)), axis, keepdims=axis is not None)).astype(x.dtype)


def _mean_square(g, axis):
    norm = _norm(g, axis)
    return div(mul(norm, norm), g.shape[axis])


def _lerp(x, end, weight):
    """The running mean; the weight of the first steps is large."""
    return jnp.where(weight < 0.5, lerp(x, end, weight, ()), lerp(x, end, weight, "nearer_end"))


class Adafactor(SteppedOptimizer):
    """Adam without momentum whose second moments of matrices are products of a row and a column; steps are relative to the
    parameters' sizes."""
    __module__ = "torchshim.optim"
    update = Update("adafactor_step", _adafactor, elementwise=False)
    flags_differ = True

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(0.0 >= beta2_decay, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or 0.0 <= eps[0], f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(0.0 <= eps[1], f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(1.0 <= d, f"Clipping threshold d should be >= 1 but is: {d}")
        check(0.0 <= weight_decay, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize))

    def _update_all(self, group, params, grads):
        if any(p.is_complex() for p in params):
            raise RuntimeError("Adafactor does not support complex parameters")
        none = next((k for k, p in enumerate(params) if not p.numel()), None)
        super()._update_all(group, params[:none], grads[:none])
        if none is not None:
            _ = 0.0 / params[none].numel() ** 0.5           # steps are relative to the mean of the parameter's squares

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
