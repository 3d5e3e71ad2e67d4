"""Entropies of binary targets, of probabilities and of logits."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from ...engine.interpret import losses
from .. import promotion as P
from ..common import real_alone
from ..layout import broadcast_shapes
from ..casts import cast, short
from ..registry import common_of, op
from .loss import _LOSS, _TARGET_FIRST, _no_integers, _on_host, reduced, refuse_bool_minus


@functools.partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def _entropy(p, t, weight, reduction, half):
    def r(x):
        return short(x, half)
    y = r(r(r(t - 1) * jnp.maximum(r(jnp.log1p(-p)), -100)) - r(t * jnp.maximum(r(jnp.log(p)), -100)))
    return reduced(y if weight is None else r(y * weight), reduction)


@_entropy.defjvp
def _entropy_jvp(reduction, half, primals, tangents):
    # in the gradient: torch's own slope, finite at 0 and 1, times the cotangent, then the weight, then by the number of elements
    (p, t, weight), (dp, dt, _) = primals, tangents
    scale = jnp.maximum(short(short(1 - p, half) * p, half), short(jnp.asarray(1e-12, p.dtype), half))

    def through(u):
        u = short(u / p.size, half) if reduction == "mean" else u
        return u if weight is None else short(u * weight, half)
    made = short(through(dp) / scale, half) * short(p - t, half) + through(dt) * (jnp.log1p(-p) - jnp.log(p))
    out = _entropy(*primals, reduction, half)
    return out, (jnp.sum(made) if reduction != "none" else made).astype(out.dtype)


def _check_bce(x, target, weight, reduction):
    if x.dtype != target.dtype:
        raise RuntimeError(f"Found dtype {P.c_name(target.dtype)} but expected {P.c_name(x.dtype)}")
    _no_integers("binary_cross_entropy")(x, target)
    _weighs(x, weight)


def _weighs(x, weight, first=False):
    """torch multiplies the losses by their weights in place."""
    if weight is not None:
        shape = broadcast_shapes([weight.shape, x.shape] if first else [x.shape, weight.shape])
        if shape != tuple(x.shape):
            raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(shape)}")


@op("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
    grad="BinaryCrossEntropyBackward0", check=_check_bce, half_steps=True, saves=("self", "target", "weight"), **_LOSS)
def binary_cross_entropy(self, target, weight, reduction, half=None):
    """Cross entropy of probabilities; logarithms are at least -100."""
    return _entropy(self, target, weight, reduction, half)


def _factors_of_logits(made, asked):
    # the weight of the positive ones stands beside the target, and beside a logarithm
    beside = "self" in made and "target" in asked or "target" in made and "self" in asked
    return {"grad", "weight", *(("pos_weight",) if beside else ())}


@op("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "str reduction='mean', bool mixed=False) -> Tensor", grad="BinaryCrossEntropyWithLogitsBackward0", refuses=("log_sigmoid_cpu", "c"),
    check=lambda x, target, weight, pos_weight, *rest: pos_weight is not None and refuse_bool_minus(x, pos_weight), half_steps=True,
    saves=("self", "target", "weight", "pos_weight"), grad_for=real_alone, factors=_factors_of_logits, **_on_host(losses.entropy, losses.entropy_back, target_too=False),
    **{**_TARGET_FIRST, "promote": lambda layout: None if layout[5] else "arith"})
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction, mixed, half=None):
    """Cross entropy of sigmoid(self), without overflow; mixed: the operands have several dtypes, of which the target's is the result's."""
    _weighs(self, pos_weight, True)
    _weighs(self, weight)
    if mixed:
        return _mixed_entropy(self, target, weight, pos_weight, reduction)
    return _entropy_of_logits(self, target, weight, pos_weight, reduction, half)


binary_cross_entropy.edges = binary_cross_entropy_with_logits.edges = (0, 1)       # their weights have no place in the graph


def _logit_terms(x, target, weight, pos_weight, reduction, half):
    def r(x):
        return short(x, half)
    less = r(-jax.nn.log_sigmoid(x))           # log(1 + exp(-x))
    if pos_weight is not None:
        less = r(r(1 + r(r(pos_weight - 1) * target)) * less)
    y = r(r(r(1 - target) * x) + less)
    return reduced(y if weight is None else r(y * weight), reduction)


_entropy_of_logits = jax.custom_jvp(_logit_terms, nondiff_argnums=(4, 5))


@_entropy_of_logits.defjvp
def _entropy_of_logits_jvp(reduction, half, primals, tangents):
    # in the gradient: the slope times the cotangent, times the weight, by the number of elements, in torch's order; weights have none
    x, target, weight, pos_weight = primals
    out = _entropy_of_logits(*primals, reduction, half)

    def through(t, slope):
        t = short(t / x.size, half) if reduction == "mean" else t
        t = (t if weight is None else short(t * weight, half)) * slope
        return jnp.sum(t) if reduction != "none" else t
    s = short(jax.lax.logistic(x), half)
    if pos_weight is None:
        made = through(tangents[0], short(s - target, half)) + through(tangents[1], -x)
    else:
        scaled = pos_weight * target
        made = (through(tangents[0], (scaled + 1 - target) * s - scaled)
                + through(tangents[1], jax.nn.log_sigmoid(-x) - pos_weight * jax.nn.log_sigmoid(x)))
    return out, made.astype(out.dtype)


def _step(f, into, *xs):
    """f of xs as torch writes it into a tensor of dtype `into` (None: a new one): computed in their common dtype, rounded to it before."""
    common = common_of(xs)
    made = cast(f(*[cast(cast(x, common), P.compute_dtype(common)) for x in xs]), common)
    return made if into is None else cast(made, into)


@functools.partial(jax.custom_jvp, nondiff_argnums=(4,))
def _mixed_entropy(x, target, weight, pos_weight, reduction):
    # each step writes into the tensor of the step before: 1 - target, or the logarithm of the sigmoid
    minus, times, d = jnp.subtract, jnp.multiply, target.dtype
    y = _step(minus, d, _step(times, d, _step(lambda t: 1 - t, d, target), x), _logs(x, target, pos_weight))
    if weight is not None:
        y = _step(times, d, y, weight)
    return cast(reduced(cast(y, P.compute_dtype(d)), reduction), d)


def _logs(x, target, pos_weight):
    logs = _step(jax.nn.log_sigmoid, None, x)
    if pos_weight is None:
        return logs
    scale = _step(jnp.multiply, None, _step(lambda p: p - 1, None, pos_weight), target)
    return _step(jnp.multiply, x.dtype, logs, _step(lambda s: s + 1, None, scale))


@_mixed_entropy.defjvp
def _mixed_entropy_jvp(reduction, primals, tangents):
    # in the gradient: the slope in its own dtype, then written into it what it is multiplied with, in torch's order
    x, target, weight, pos_weight = primals
    minus, times = jnp.subtract, jnp.multiply
    s = _step(jax.lax.logistic, None, x)
    if pos_weight is None:
        slopes = _step(minus, None, s, target), -x
    else:
        scaled = _step(times, None, pos_weight, target)
        d = scaled.dtype
        slopes = (_step(minus, d, _step(times, d, _step(minus, d, _step(lambda t: t + 1, d, scaled), target), s), scaled),
                  _step(minus, x.dtype, _step(lambda x: jax.nn.log_sigmoid(-x), None, x),
                        _step(times, x.dtype, _step(jax.nn.log_sigmoid, None, x), pos_weight)))
    out = _mixed_entropy(*primals, reduction)

    def through(t, slope):
        wide = P.compute_dtype(slope.dtype)
        t, slope = t.astype(wide), slope.astype(wide)
        t = t / x.size if reduction == "mean" else t
        t = (t if weight is None else t * cast(weight, wide)) * slope
        return (jnp.sum(t) if reduction != "none" else t).astype(out.dtype)
    return out, through(tangents[0], slopes[0]) + through(tangents[1], slopes[1])
