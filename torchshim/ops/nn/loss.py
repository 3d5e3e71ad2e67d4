"""Losses: each with its reduction is one operator.

`reduction` is "none", "mean" or "sum". Half types are computed in float32, and rounded where torch's kernels round them (`short`).
"""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import meta_of
from ...engine.interpret import losses
from .. import promotion as P
from ..arithmetic import ONE_BOOL, TWO_BOOLS
from ..common import as_number, half_of, length, real_alone, taken, wide
from ..layout import broadcast_shapes, elementwise_strides, kept_strides
from ..reduction import unsupported
from ..casts import cast, short
from ..registry import common_of, every_operand, kernel_back, op
from .softmax import log_softmax_of, refuse_integers


def reduced(x, reduction):
    """The mean, the sum, or x itself."""
    return jnp.mean(x) if reduction == "mean" else jnp.sum(x) if reduction == "sum" else x


def _weighted_mean(y, weight, half):
    return short(jnp.sum(y), half) / short(jnp.sum(jnp.broadcast_to(weight, y.shape)), half)


def no_mean_of(d):
    """torch's error for the mean of integers."""
    return RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
                        + P.c_name(d))


def refuse_bool_minus(*tensors):
    """torch's error for a difference of which bools are part."""
    if any([x.dtype == P.bool_ for x in tensors]):
        both = "two bool tensors" if all([x.dtype == P.bool_ for x in tensors]) else "a bool tensor"
        other = "Use the `^` or `logical_xor()` operator" if both[0] == "t" else \
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator"
        raise RuntimeError(f"Subtraction, the `-` operator, with {both} is not supported. {other} instead.")


def _named(none, **names):
    """The grad_fn's name by reduction."""
    def name(inst):
        return names.get(next(x for x in inst.layout if x in ("none", "mean", "sum")), none)
    return name


def _weighted(plain):
    """The grad_fn's name where weights may come after the loss itself."""
    by_reduction = _named("MulBackward0", mean="DivBackward0", sum="SumBackward0")
    return lambda inst: by_reduction(inst) if inst.layout[2] is not None else plain(inst) if callable(plain) else plain


def _loss_strides(inst, x, target, *rest):
    """Without reduction the operands' layout."""
    if inst.out_metas[0].ndim == 0:
        return None
    return elementwise_strides((x, target), broadcast_shapes([x.shape, target.shape]))


def _shown(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


# -- classes --------------------------------------------------------------------------------------------------------------
def _class_dim(x):
    return 0 if len(x.shape) == 1 else 1


def check_classes(x, target, weight, spatial_name=""):
    """Shapes and dtypes of class numbers as torch wants them."""
    if not x.shape:
        raise ValueError(f"Expected 1 or more dimensions (got {len(x.shape)})")
    n, m = len(x.shape), len(target.shape)
    c = x.shape[_class_dim(x)]
    batch = target.shape[0] if m else 0                   # torch counts no batch in a target without dimensions
    if n != 1 and x.shape[0] != batch:
        raise ValueError(f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({batch}).")
    if n <= 2:
        if m > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    elif n == 4:
        if m != 3:
            raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: " + str(m))
    elif target.shape[1:] != x.shape[2:]:
        raise RuntimeError(f"Expected target size {_shown((x.shape[0],) + x.shape[2:])}, got {_shown(target.shape)}")
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {P.c_name(target.dtype)}")
    if n == 1 and m == 1 and batch != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {batch}")
    if n == 2 and not m:                                  # an empty batch and a lone class
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if n not in (1, 2, 4) and not c and 0 not in target.shape:     # torch makes four dimensions of the others
        raise RuntimeError(f"size mismatch (got input: {_shown((x.shape[0], 0, 0, 0))} , "
                           f"target: {_shown((target.shape[0], 1, math.prod(target.shape[1:])))}")
    if n == 4 and x.shape[2:] != target.shape[1:]:
        raise RuntimeError(f"size mismatch (got input: {_shown(x.shape)} , target: {_shown(target.shape)}")
    if weight is not None:
        if weight.shape != (c,):
            raise RuntimeError(f"weight tensor should be defined either for all {c} classes or no classes but got weight tensor of "
                               f"shape: {_shown(weight.shape)}")
        if weight.dtype != x.dtype:
            raise RuntimeError(f"expected scalar type {P.c_name(x.dtype)} but found {P.c_name(weight.dtype)}")


def _in_sixteens(values, half):
    """The sum of half numbers as torch's kernel makes it: one after the other, sixteen at a time, then sixteen of these sums, and so on,
    each step rounded. The first number is added last."""
    def in_turn(rows):
        total = jnp.zeros(rows.shape[:1], rows.dtype)
        for k in range(rows.shape[1]):
            total = short(total + rows[:, k], half)
        return total
    first, rest, total = values.ravel()[:1], values.ravel()[1:], jnp.zeros((1,), values.dtype)
    while rest.shape[0]:
        whole = rest.shape[0] // 16 * 16
        total = short(total + in_turn(rest[None, whole:]), half)
        rest = in_turn(rest[:whole].reshape(-1, 16))
    return jnp.sum(short(total + first, half))


def _rounded_nll(losses, w, weighted, reduction, half):
    """The reduced loss with the rounding of torch's kernels of half types, of whose order the gradient does not know."""
    each = jax.lax.stop_gradient(losses)
    made, loss = _in_sixteens(each, half), short(jnp.sum(losses), half)
    if reduction == "mean":
        total = _in_sixteens(w, half) if weighted else short(jnp.sum(w), half)
        made, loss = short(made / total, half), loss / total
    return loss + (made - jax.lax.stop_gradient(loss))


def _nll(logp, target, weight, reduction, ignore_index, smoothing=None, half=None):
    """Negative log-likelihood from log-probabilities; `smoothing` mixes in the mean over classes."""
    dim = _class_dim(logp)
    n = logp.shape[dim]
    if logp.ndim == 1 and target.ndim == 1:
        target = target[0]
    target = target.astype(jnp.int64)
    at = jnp.expand_dims(target, dim)
    classes = jnp.arange(n).reshape([-1 if d == dim else 1 for d in range(logp.ndim)])
    kept = target != ignore_index
    few = logp.ndim > 2                        # positions of an image have few classes: then passes over all cost less than looking them up

    def of_target(values):
        return jnp.sum(jnp.where(at == classes, values, 0), dim) if few else jnp.squeeze(taken(values, at, dim, unique=True), dim)
    if weight is None:
        w = kept.astype(logp.dtype)
        shape_w = None
    else:
        shape_w = weight.astype(logp.dtype).reshape(classes.shape)
        w = of_target(jnp.broadcast_to(shape_w, logp.shape)) * kept
    loss = -of_target(short(logp, half)) * jnp.where(kept, w, 0)
    loss = jnp.where(kept, loss, 0)
    loss, total = short(loss, half), jnp.sum(w)
    if reduction != "none":
        if half is not None and loss.size:
            loss = _rounded_nll(loss, w, weight is not None, reduction, half)
        else:
            loss = jnp.sum(loss) / total if reduction == "mean" else jnp.sum(loss)
    if smoothing is None:
        return loss
    s = smoothing.astype(logp.dtype)
    logp = short(logp, half)
    smooth = short(-jnp.sum(logp if shape_w is None else short(logp * shape_w, half), dim), half)
    smooth = jnp.where(kept, smooth, 0)
    if reduction == "mean":                    # torch divides by the weights of the targets, or by the number of targets that count
        smooth = jnp.sum(smooth) / total if weight is None else short(jnp.sum(smooth), half) / short(total, half)
    elif reduction == "sum":
        smooth = jnp.sum(smooth)
    return short((1 - s) * short(loss, half), half) + short(s / n * short(smooth, half), half)


def _nll_name(inst):
    n = inst.in_metas[0].ndim
    if n > 2 and n != 4 and inst.layout[3] == "none":     # torch sees a plane in them, and gives the losses back their shape
        return "ViewBackward0"
    return "NllLossBackward0" if n <= 2 else "NllLoss2DBackward0"


def _classes_on_host(inst):
    """(rows, classes, dtype) of rows of classes that NumPy knows, else None."""
    x = inst.in_metas[0]
    return (*x.shape, x.dtype) if x.ndim == 2 and x.numel and x.dtype in (P.float32, P.float64) else None


def _nll_on_host(inst):
    rows = _classes_on_host(inst)
    return losses.nll(*rows, *inst.layout[3:]) if rows and inst.layout[2] is None else None


def _nll_back_on_host(inst, plan):
    rows = _classes_on_host(inst)
    return losses.nll_back(*rows, *inst.layout[3:]) if rows and inst.layout[2] is None and plan.args == (0, 1) and not plan.outs else None


def _nothing_itself(inst):
    """torch makes it of operators that save what others of them gave, and none of its operands."""
    return dict.fromkeys(range(len(inst.in_metas)))


def _not_first(inst):
    """torch saves what it makes of the first operand before."""
    return {0: None}


def _check_nll(x, target, weight, *rest):
    check_classes(x, target, weight)
    refuse_classes_of(x)


def refuse_classes_of(x):
    """torch's error for log-probabilities that are not floating numbers."""
    if P.kind_of(x.dtype) != 2:
        kernel = "nll_loss_out_frame" if len(x.shape) <= 2 else "nll_loss2d_forward_out_frame"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(x.dtype)}'")


def _plane_of(inst):
    """torch sees a plane in other than two dimensions of positions."""
    n, c, *rest = inst.in_metas[0].shape if inst.in_metas[0].ndim > 2 else (0, 0)
    return {0: (n, c, 1, math.prod(rest))} if len(rest) in (1, 3, 4, 5) else {}


def _refuse_planes(inst, needs):
    """back_refuses: torch's gradient for planes is laid as they are, and must be contiguous."""
    m = inst.in_metas[0]
    if m.ndim == 4 and not meta_of(m.shape, m.dtype, m.device, kept_strides(m)).contiguous:
        return "grad_input must be contiguous"


@op("nll_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', int ignore_index=-100) -> Tensor",
    plain_gradients=True,
    seen=_plane_of, saves=("self", "target", "weight"), grad=_nll_name, check=_check_nll, back_refuses=_refuse_planes, function=False,
    method=False, twice="zeros", grad_back=kernel_back, host=_nll_on_host, host_back=_nll_back_on_host)
def nll_loss(self, target, weight, reduction, ignore_index):
    """Negative log-likelihood of class numbers."""
    return _nll(wide(self), target, weight, reduction, ignore_index, half=half_of(self.dtype)).astype(self.dtype)


nll_loss.edges = (0,)                      # the classes and their weights have no place in the graph


def _check_cross_entropy(x, target, weight, reduction, ignore_index, smoothing):
    refuse_integers("log_softmax", x, _class_dim(x), x.dtype)
    check_classes(x, target, weight)


def _cross_entropy_on_host(inst):
    rows, (weight, *rest, smoothing) = _classes_on_host(inst), inst.layout[2:]
    return losses.cross_entropy(*rows, *rest) if rows and weight is None and smoothing is None else None


def _cross_entropy_back_on_host(inst, plan):
    rows, (weight, *rest, smoothing) = _classes_on_host(inst), inst.layout[2:]
    known = rows and weight is None and smoothing is None and plan.args == (0, 1) and not plan.outs
    return losses.cross_entropy_back(*rows, *rest) if known else None


@op("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', int ignore_index=-100, "
    "float? label_smoothing=None) -> Tensor",
    seen=_not_first, grad=lambda inst: _nll_name(inst) if inst.layout[5] is None else "AddBackward0", check=_check_cross_entropy,
    host=_cross_entropy_on_host, host_back=_cross_entropy_back_on_host,
    function=False, method=False)
def cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing):
    """nll_loss of log_softmax, for class numbers."""
    x = wide(self)
    half = half_of(self.dtype)
    logp = short(log_softmax_of(x, _class_dim(x), half), half)         # as what has a gradient of its own, which is rounded too
    return _nll(logp, target, weight, reduction, ignore_index, label_smoothing, half).astype(self.dtype)


@op("cross_entropy_soft(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', float? label_smoothing=None) -> Tensor",
    seen=_not_first, copied=lambda inst, wrt: () if 0 in wrt else (1,), function=False, method=False,
    grad=lambda inst: "DivBackward1" if inst.layout[3] == "mean" and inst.in_metas[0].numel else "NegBackward0")
def cross_entropy_soft(self, target, weight, reduction, label_smoothing):
    """Cross entropy with class probabilities."""
    x = wide(self)
    dim = _class_dim(x)
    logp = log_softmax_of(x, dim, half_of(self.dtype))
    t = target.astype(jnp.promote_types(logp.dtype, target.dtype))
    if label_smoothing is not None:
        s = label_smoothing.astype(t.dtype)
        t = t * (1 - s) + s / x.shape[dim]
    y = logp * t
    if weight is not None:
        y = y * weight.astype(y.dtype).reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    if reduction == "none":
        out = -jnp.sum(y, dim)
    else:
        out = -jnp.sum(y)
        if reduction == "mean":
            out = out / (x.size // x.shape[dim] if x.shape[dim] else 0)
    return out.astype(jnp.promote_types(self.dtype, target.dtype))


def _outside(target, classes, ignore_index):
    t = target.astype(jnp.int64).ravel()
    bad = ((t < 0) | (t >= classes)) & (t != ignore_index)
    return jnp.where(jnp.any(bad), t[jnp.argmax(bad)], 0)


OUTSIDE = op("outside.classes(Tensor target, int classes, int ignore_index) -> Tensor",
             host=lambda inst: losses.outside(*inst.layout[1:]))(_outside)
NO_PROBABILITY = op("outside.probabilities(Tensor self) -> Tensor")(lambda x: jnp.any(~((x >= 0) & (x <= 1))).astype(jnp.int64))


# -- elementwise losses -----------------------------------------------------------------------------------------------------
def _no_integers(kernel):
    def check(x, target, *rest):
        d = P.promote(x.dtype, target.dtype)
        if P.kind_of(d) != 2:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(d)}'")
        broadcast_shapes([x.shape, target.shape])
    return check


_LOSS = dict(promote="arith", elementwise=False, strides=_loss_strides, function=False, method=False)
# torch's formula begins with the target
_TARGET_FIRST = {**_LOSS, "strides": lambda inst, x, target, *rest: _loss_strides(inst, target, x)}


def _on_host(forward, backward, target_too=True):
    """(host, host_back) of the declarations of losses of two alike operands."""
    def alike(inst):
        x, target = inst.in_metas[:2]
        if (len(inst.in_metas) == 2 and x.numel and x.dtype in (P.float32, P.float64) and target.dtype == x.dtype
                and target.shape == x.shape):
            return x.shape, x.dtype, next(a for a in inst.layout if a in ("none", "mean", "sum"))

    def host(inst):
        given = alike(inst)
        return given and forward(*given)

    def host_back(inst, plan):
        given = alike(inst)
        if given is None or plan.args != (0, 1) or plan.outs or len(plan.nums) != len(inst.kinds) or not (target_too or plan.needs == (0,)):
            return None
        return backward(*given, plan.needs)
    return dict(host=host, host_back=host_back)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _mean_square(d, half):
    return jnp.mean(jnp.square(d)) if half is None else reduced(short(jnp.square(d), half), "mean")


@_mean_square.defjvp
def _mean_square_jvp(half, primals, tangents):
    # the cotangent comes last, as in torch's kernel
    d, = primals
    with np.errstate(divide="ignore"):         # of nothing
        factor = cast(2 / as_number(d.size, np.float64), d.dtype)
    return _mean_square(d, half), jnp.sum(tangents[0] * short(short(factor, half) * d, half))


@op("mse_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor", grad=_weighted("MseLossBackward0"),
    grad_back="MseLossBackward", check=_no_integers("mse_cpu"), **_LOSS, plain_gradients=True, twice_saves=every_operand,
    half_steps=True)
def mse_loss(self, target, weight, reduction, half=None):
    """The squared difference; with weights, torch divides by their sum."""
    d = short(self - target, half)
    if weight is None:
        return _mean_square(d, half) if reduction == "mean" else reduced(short(jnp.square(d), half), reduction)
    y = short(short(jnp.square(d), half) * weight, half)
    return _weighted_mean(y, weight, half) if reduction == "mean" else reduced(y, reduction)


@jax.custom_jvp
def _abs(x):
    return jnp.abs(x)


@_abs.defjvp
def _abs_jvp(primals, tangents):
    # torch's derivative is 0 at 0, and where NaN compares as neither side
    x, t = primals[0], tangents[0]
    return jnp.abs(x), t * ((x > 0).astype(t.dtype) - (x < 0).astype(t.dtype))


def _check_l1(x, target, weight, reduction):
    if np.bool_ in (x.dtype, target.dtype):
        raise RuntimeError(TWO_BOOLS if x.dtype == target.dtype else ONE_BOOL)
    d = P.promote(x.dtype, target.dtype)
    if P.kind_of(d) < 2 and reduction == "mean":
        raise no_mean_of(d)
    broadcast_shapes([x.shape, target.shape])


@op("l1_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor", seen=_nothing_itself,
    grad=_weighted(_named("AbsBackward0", mean="MeanBackward0", sum="SumBackward0")), check=_check_l1,
    **{**_LOSS, "promote": None})
def l1_loss(self, target, weight, reduction):
    """The absolute difference."""
    d = P.promote(self.dtype, target.dtype)
    x = self.astype(P.compute_dtype(d)) - target.astype(P.compute_dtype(d))
    y = length(x) if P.kind_of(d) == 3 else _abs(x)
    if P.kind_of(d) != 3:
        y = y.astype(P.compute_dtype(d))
    if weight is not None:
        half = half_of(d)
        y = short(short(y, half) * weight.astype(y.dtype), half)
        out = _weighted_mean(y, weight.astype(y.dtype), half) if reduction == "mean" else reduced(y, reduction)
    else:
        whole = P.kind_of(d) < 2 and reduction == "sum"
        out = reduced(y.astype(P.int64) if whole else y, reduction)
        d = P.int64 if whole else d
    return out.astype(d) if P.kind_of(d) != 3 else out


@op("smooth_l1_loss(Tensor self, Tensor target, str reduction='mean', float beta=1.0) -> Tensor", grad="SmoothL1LossBackward0",
    grad_back="SmoothL1LossBackward", check=_no_integers("smooth_l1_cpu"), **_LOSS, plain_gradients=True,
    **_on_host(losses.smooth_l1, losses.smooth_l1_back))
def smooth_l1_loss(self, target, reduction, beta):
    """Quadratic below beta, linear above."""
    return reduced(_smooth(self - target, beta), reduction)


@jax.custom_jvp
def _smooth(d, beta):
    a = jnp.abs(d)
    far = a >= beta
    near = jnp.where(far, 0, a)
    return jnp.where(far, a - 0.5 * beta, 0.5 * near * near / jnp.where(beta > 0, beta, 1))


@_smooth.defjvp
def _smooth_jvp(primals, tangents):
    # by this slope the second derivative at 0 is that beside it
    d, beta = primals
    far = jnp.abs(d) >= beta
    return _smooth(d, beta), tangents[0] * jnp.where(far, jnp.sign(d), jnp.where(far, 0, d) / jnp.where(beta > 0, beta, 1))


@jax.custom_jvp
def _huber(d, delta):
    a = jnp.abs(d)
    return jnp.where(a <= delta, 0.5 * a * a, delta * (a - 0.5 * delta))


@_huber.defjvp
def _huber_jvp(primals, tangents):
    # torch's slope: delta far out, also at infinity, and nan where d is
    d, delta = primals
    slope = jnp.where(jnp.abs(d) < delta, d, delta * jnp.sign(d))
    return _huber(d, delta), tangents[0] * slope


def _of_one_dtype(inst, needs):
    """back_refuses: torch's gradient of either is computed in its own dtype, which must be the other's."""
    dtypes = [m.dtype for m in inst.in_metas[:2]]
    if dtypes[0] == dtypes[1] or inst.layout[2] is not None:
        return None
    own, other = dtypes if 0 in needs else dtypes[::-1]
    return f"Found dtype {P.c_name(other)} but expected {P.c_name(own)}"


def _check_huber(x, target, *rest):
    d = common_of((x, target), ())
    if not P.can_cast(d, x.dtype):
        raise RuntimeError(f"result type {P.c_name(d)} can't be cast to the desired output type {P.c_name(x.dtype)}")
    _no_integers("huber_cpu")(x, target)


@op("huber_loss(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', float delta=1.0, ScalarType? dtype=None) -> Tensor",
    grad=_weighted("HuberLossBackward0"), grad_back="HuberLossBackward", back_refuses=_of_one_dtype, check=_check_huber,
    **{**_LOSS, "promote": lambda layout: "arith" if layout[5] is None else "compare"},
    plain_gradients=True, half_steps=True, **_on_host(losses.huber, losses.huber_back))
def huber_loss(self, target, weight, reduction, delta, dtype, half=None):
    """Quadratic below delta, linear with slope delta above; dtype: the result's, that of self, where the common one is another."""
    y = short(_huber(short(self - target, half), delta), half)
    if dtype is not None:
        y = cast(y, dtype)
    if weight is None:
        return reduced(y, reduction)
    y = short(y * weight, half)
    return _weighted_mean(y, weight, half) if reduction == "mean" else reduced(y, reduction)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _entropy_term(t, half):
    return jnp.where(t == 0, 0, short(t * short(jnp.log(jnp.where(t == 0, 1, t)), half), half))


@_entropy_term.defjvp
def _entropy_term_jvp(half, primals, tangents):
    # torch's slope, which at 0 is nan: that of t log y, both of them t
    t, = primals
    return _entropy_term(t, half), tangents[0] * jnp.where(t == 0, 0, jnp.log(t)) + tangents[0] / t * t


def _kl_name(inst):
    return {"none": "MulBackward0" if inst.layout[3] else "SubBackward0", "sum": "SumBackward0",
            "mean": "MeanBackward0"}.get(inst.layout[2], "DivBackward0")


@op("kl_div(Tensor self, Tensor target, str reduction='mean', bool log_target=False) -> Tensor", plain_gradients=True, grad=_kl_name,
    half_steps=True, seen=lambda inst: _nothing_itself(inst) if inst.layout[3] else {}, **_TARGET_FIRST)
def kl_div(self, target, reduction, log_target, half=None):
    """target * (log target - self); self holds log-probabilities. "batchmean" divides by the first dimension."""
    if log_target:
        y = short(short(jnp.exp(target), half) * short(target - self, half), half)
    else:
        product = short(target * self, half)   # before the other term: so its gradient is added last, as in torch
        y = short(_entropy_term(target, half) - product, half)
    return jnp.sum(y) / self.shape[0] if reduction == "batchmean" else reduced(y, reduction)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _soft_margin(x, target, half):
    return short(jnp.log1p(short(jnp.exp(short(-target * x, half)), half)), half)


@_soft_margin.defjvp
def _soft_margin_jvp(half, primals, tangents):
    # torch's steps; the target has no gradient
    x, target = primals
    z = short(jnp.exp(short(-target * x, half)), half)
    return _soft_margin(x, target, half), tangents[0] * _soft_slope(x, target, half) - tangents[1] * (x * z / (z + 1))


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _soft_slope(x, target, half):
    z = short(jnp.exp(short(-target * x, half)), half)
    return short(short(-target * z, half) / short(z + 1, half), half)


@_soft_slope.defjvp
def _soft_slope_jvp(half, primals, tangents):
    # z * z may be infinite
    x, target = primals
    z = jnp.exp(-target * x)
    once, curve = z / (z + 1), z / ((z + 1) * (z + 1))
    return _soft_slope(x, target, half), tangents[0] * (target * target * curve) + tangents[1] * (target * x * curve - once)


def _check_soft_margin(x, target, *rest):
    if x.dtype == P.bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
                           "or `logical_not()` operator instead.")
    broadcast_shapes([x.shape, target.shape])
    d = P.promote(x.dtype, target.dtype)
    if P.kind_of(d) < 2:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {P.c_name(d)}")


@op("soft_margin_loss(Tensor self, Tensor target, str reduction='mean') -> Tensor", grad="SoftMarginLossBackward0",
    grad_back="SoftMarginLossBackward", grad_for=real_alone, check=_check_soft_margin, half_steps=True, by_out="soft_margin_loss", **_LOSS)
def soft_margin_loss(self, target, reduction, half=None):
    """log(1 + exp(-target * self))."""
    return reduced(_soft_margin(self, target, half), reduction)


def _check_poisson(x, target, log_input, full, *rest):
    if full and P.kind_of(target.dtype) == 3:
        raise unsupported("le_cpu", target)
    if x.dtype == P.bool_ and (target.dtype == P.bool_ or not log_input):
        raise RuntimeError(ONE_BOOL)


def _poisson_name(inst):
    return {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(inst.layout[5], "AddBackward0" if inst.layout[3] else "SubBackward0")


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _rounded_exp(x, half):
    return short(jnp.exp(x), half)


@_rounded_exp.defjvp
def _rounded_exp_jvp(half, primals, tangents):
    made = _rounded_exp(primals[0], half)      # the gradient goes by what is rounded
    return made, short(tangents[0], half) * made


@op("poisson_nll_loss(Tensor self, Tensor target, bool log_input, bool full, float eps, str reduction) -> Tensor",
    grad=_poisson_name, check=_check_poisson,
    seen=lambda inst: {} if inst.layout[2] else {0: None}, copied=lambda inst, wrt: (0,) if inst.layout[2] and 1 not in wrt else (),
    half_steps=True, **{**_LOSS, "promote": "float"})
def poisson_nll_loss(self, target, log_input, full, eps, reduction, half=None):
    """Negative log-likelihood of counts; full: with Stirling's term."""
    if log_input:
        y = short(_rounded_exp(self, half) - short(target * self, half), half)
    else:
        y = short(self - short(target * short(jnp.log(short(self + eps, half)), half), half), half)
    if full:
        s = short(short(target * short(jnp.log(target), half), half) - target, half)
        s = short(s + short(0.5 * short(jnp.log(short(2 * jnp.pi * target, half)), half), half), half)
        y = short(y + jnp.where(target <= 1, 0, s), half)
    return reduced(y, reduction)


def _check_gaussian(x, target, var, *rest):
    if P.kind_of(var.dtype) < 2:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {P.cpp_name(var.dtype)}")
    refuse_bool_minus(x, target)


@op("gaussian_nll_loss(Tensor self, Tensor target, Tensor var, bool full, float eps, str reduction) -> Tensor",
    grad=lambda inst: _named("AddBackward0" if inst.layout[3] else "MulBackward0", mean="MeanBackward0", sum="SumBackward0")(inst),
    check=_check_gaussian,
    half_steps=True, seen=_nothing_itself, **{**_LOSS, "promote": "float"})
def gaussian_nll_loss(self, target, var, full, eps, reduction, half=None):
    """Negative log-likelihood of a normal distribution; the variance is at least eps, without gradient there."""
    v = var + short(jax.lax.stop_gradient(jnp.maximum(var, eps) - var), half)
    away = short(jnp.square(short(self - target, half)), half)
    y = short(0.5 * short(short(jnp.log(v), half) + short(away / v, half), half), half)
    if full:
        y = short(y + 0.5 * jnp.log(jnp.asarray(2 * jnp.pi, y.dtype)), half)
    return reduced(y, reduction)
