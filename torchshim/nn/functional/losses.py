"""Loss functions with torch's signatures."""
from __future__ import annotations


import numpy as np

from ...engine import TRACED, context, present, record, warn
from ...ops import promotion as P
from ...ops.common import size_at, wrap_dim
from ...ops.layout import broadcast_shapes
from ...ops.nn import binary_entropy, loss as ops
from ...ops.nn.softmax import log_softmax
from ...ops.registry import SF, T
from ...tensor.api.bind import FUNCTIONS, call
from ...tensor.core.dispatch import apply, apply2
from ...tensor.core.handle import TensorBase, look, meta, read
from ...tensor.core.write import needs_grad
from ...tensor.api.picking import bounds_of, flag, host_known
from ...tensor.api.signatures import ask_parser
from .common import known, not_differentiable, reduction_of, size_warning


def _check_targets(target, classes, ignore_index):
    """IndexError for class numbers that do not exist: now where the host knows them, else at the next look."""
    m, root = target._ts_meta, present(target._ts_st.value)
    if m.dtype.kind not in "iu" or not m.numel or m.device == "meta":
        return
    if host_known(root) or not classes and root.extra is not TRACED:
        low, high = bounds_of(target._ts_st)[1:] if classes else (0, 0)
        if low < 0 or high >= classes:
            _refuse_outside(np.asarray(look(target)), classes, ignore_index)
        direct = context.trace.direct
        if direct is not None and direct.noted is not None:
            direct.note(lambda a: _refuse_outside(a, classes, ignore_index), (read(target).array,))
        return
    v = read(target)
    if v.extra is not TRACED:
        flag(record(context, ops.OUTSIDE, (T, classes, ignore_index), (v,))[0], v, _out_of_bounds)


def _refuse_outside(a, classes, ignore_index):
    if a.dtype == np.int64 and np.maximum.reduce(a.view(np.uint64), None) < classes:
        return ()
    bad = a[((a < 0) | (a >= classes)) & (a != ignore_index)]
    if bad.size:
        raise _out_of_bounds(bad.flat[0])
    return ()


def _out_of_bounds(target):
    return IndexError(f"Target {target} is out of bounds.")


def _classes_kernel(dims):
    return "nll_loss_forward" if dims < 3 else "nll_loss2d_forward"


_NOT_PROBABILITIES = {what: lambda _, what=what: RuntimeError(f"all elements of {what} should be between 0 and 1")
                      for what in ("input", "target")}


def _index(x):
    """A class number in the form that torch's operators take."""
    if isinstance(x, (bool, np.bool_)) or not hasattr(x, "__index__"):
        raise TypeError("ignore_index must be int")
    return x.__index__()


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """Cross entropy between logits and targets.

    input: (N, C, ...) or (C,); target: class numbers, or probabilities of input's shape. weight: one factor a class;
    ignore_index: targets that do not count; label_smoothing: in [0, 1], the share of the uniform distribution.
    """
    if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
        reduction = reduction_of(reduction, size_average, reduce)
    if ignore_index.__class__ is not int:
        ignore_index = _index(ignore_index)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    m, tm = input._ts_meta, target._ts_meta
    tensors, layout = (input, target), T
    if weight is not None:
        tensors += (weight,)
    else:
        layout = None
    smooth = None if label_smoothing == 0 else SF
    nums, kinds = ((), "") if smooth is None else ((float(label_smoothing),), "f")
    if tm.shape == m.shape and m.ndim:
        _check_soft(m, tm, weight, ignore_index)
        return apply(ops.cross_entropy_soft, tensors, (T, T, layout, reduction, smooth), nums, kinds)
    if m.ndim:
        if weight is not None:
            not_differentiable(_classes_kernel(m.ndim), weight=weight)
        if P.kind_of(m.dtype) != 2:            # one of them refuses it, which depends on what is empty
            logp = call(log_softmax, (input, 1 if m.ndim > 1 else 0, None))
            return nll_loss(logp, target, weight, ignore_index=ignore_index, reduction=reduction)
        if not (weight is None and m.ndim == 2 and tm.shape == m.shape[:1] and tm.dtype == P.int64):
            ops.check_classes(m, tm, None if weight is None else weight._ts_meta)
        _check_targets(target, m.shape[1 if m.ndim > 1 else 0], ignore_index)
    else:
        if tm.ndim:
            wrap_dim(1, 0)
        _check_soft(m, tm, weight, ignore_index)
    if layout is smooth is None:
        return apply2(ops.cross_entropy, input, target, (T, T, None, reduction, ignore_index, None))
    return apply(ops.cross_entropy, tensors, (T, T, layout, reduction, ignore_index, smooth), nums, kinds)


def _check_soft(m, tm, weight, ignore_index):
    if P.kind_of(tm.dtype) != 2:
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {P.c_name(tm.dtype)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    size_at(m, 1 if m.ndim != 1 else 0)
    if P.kind_of(m.dtype) != 2:
        raise NotImplementedError(f"\"{'log_softmax_lastdim_kernel_impl' if m.ndim < 3 else 'log_softmax_kernel_impl'}\" not implemented "
                                  f"for '{P.c_name(m.dtype)}'")
    c = m.shape[1 if m.ndim > 1 else 0]
    if weight is not None and tuple(weight.shape) != (c,):
        raise RuntimeError(f"cross_entropy: weight tensor should be defined either for all {c} classes or no classes but got weight "
                           f"tensor of shape: {list(weight.shape)}")


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log-likelihood: minus the log-probability (in `input`) of each target class."""
    if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
        reduction = reduction_of(reduction, size_average, reduce)
    if ignore_index.__class__ is not int:
        ignore_index = _index(ignore_index)
    m, tm = input._ts_meta, target._ts_meta
    if m.ndim == 2 and weight is None and tm.dtype == P.int64 and tm.shape == m.shape[:1] and P.kind_of(m.dtype) == 2:
        _check_targets(target, m.shape[1], ignore_index)
        return apply2(ops.nll_loss, input, target, (T, T, None, reduction, ignore_index))
    if m.ndim:
        ops.check_classes(m, tm, None if weight is None else weight._ts_meta)
        not_differentiable(_classes_kernel(m.ndim), weight=weight)
        ops.refuse_classes_of(m)
        _check_targets(target, m.shape[1 if m.ndim > 1 else 0], ignore_index)
    return call(ops.nll_loss, (input, target, weight, reduction, ignore_index))


def _pair(op, input, target, weight, size_average, reduce, reduction, *more):
    input, target = size_warning("target", input, target)
    return call(op, (input, target, weight, reduction_of(reduction, size_average, reduce), *more))


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference; weight: a factor an element."""
    return _pair(ops.mse_loss, input, target, weight, size_average, reduce, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference; weight: a factor an element."""
    return _pair(ops.l1_loss, input, target, weight, size_average, reduce, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Quadratic for differences below beta, else linear."""
    input, target = size_warning("target", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return call(ops.l1_loss, (input, target, None, reduction))
    return call(ops.smooth_l1_loss, (input, target, reduction, float(beta)))


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Quadratic for differences below delta, else linear with slope delta; weight: a factor an element."""
    input, target = size_warning("target", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    dtype = None if target.dtype is input.dtype else input.dtype      # torch's kernel writes what is laid out as input
    return call(ops.huber_loss, (input, target, weight, reduction_of(reduction), float(delta), dtype))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy between probabilities and targets in [0, 1]."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
                         "Please ensure they have the same size.")
    for what, x in (("input", input), ("target", target)):
        v = read(x)
        if v.meta.numel and v.meta.device != "meta" and v.extra is not TRACED and P.kind_of(v.meta.dtype) == 2:
            late = needs_grad(x)               # a step of training computes what leads there once
            a = None if late and v.array is None else known(v)
            error = _NOT_PROBABILITIES[what]
            if a is None:
                flag(record(context, ops.NO_PROBABILITY, (T,), (v,))[0], v, error, late=True)
            elif not ((a >= 0) & (a <= 1)).all():
                raise error(0)
    not_differentiable("binary_cross_entropy", weight=weight)
    if weight is not None:
        FUNCTIONS["broadcast_shapes"](target.size(), weight.size())
    return call(binary_entropy.binary_cross_entropy, (input, target, weight, reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Cross entropy of sigmoid(input); pos_weight: factors of the positive targets."""
    reduction = reduction_of(reduction, size_average, reduce)
    if (weight is pos_weight is None and isinstance(input, TensorBase) and isinstance(target, TensorBase)
            and meta(input) is meta(target) and meta(input).dtype.kind == "f"):
        return apply2(binary_entropy.binary_cross_entropy_with_logits, input, target, (T, T, None, None, reduction, False))
    if not target.size() == input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if P.kind_of(input._ts_meta.dtype) < 2:
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")
    if target._ts_meta.dtype == P.bool_:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
                           "instead.")
    if P.kind_of(target._ts_meta.dtype) < 2:
        raise RuntimeError(f"result type {P.c_name(input._ts_meta.dtype)} can't be cast to the desired output type "
                           f"{P.c_name(target._ts_meta.dtype)}")
    not_differentiable("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    mixed = len({t._ts_meta.dtype for t in (input, target, weight, pos_weight) if t is not None}) > 1
    return call(binary_entropy.binary_cross_entropy_with_logits, (input, target, weight, pos_weight, reduction, mixed))


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input); reduction may be "batchmean", the mathematical definition."""
    if size_average is None and reduce is None:
        if reduction == "mean":
            warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
                 "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
                 "same as 'batchmean' in the next major release.")
        elif reduction != "batchmean":
            reduction_of(reduction)
    else:
        reduction = reduction_of(reduction, size_average, reduce)
    if log_target.__class__ is not bool:
        ask_parser("kl_div", (input, target, 1), {"log_target": log_target})
    if reduction == "batchmean" and not input.dim():
        reduction = "sum"
    kinds = [P.kind_of(t._ts_meta.dtype) for t in (input, target)]
    if max(kinds) > 2:
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if min(kinds) < 2:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    return call(ops.kl_div, (input, target, reduction, bool(log_target)))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    not_differentiable("soft_margin_loss", target=target)
    x, t = input._ts_meta.dtype, target._ts_meta.dtype
    if x == P.bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
                           "or `logical_not()` operator instead.")
    whole = broadcast_shapes([input._ts_meta.shape, target._ts_meta.shape])
    if whole != input._ts_meta.shape:          # torch writes into what it made of the input
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(whole)}")
    if x != t and P.promote(x, t) != x:        # torch computes in what is to be the result
        if not P.can_cast(P.promote(x, t), x):
            raise RuntimeError(f"result type {P.c_name(P.promote(x, t))} can't be cast to the desired output type {P.c_name(x)}")
        target = target.to(input.dtype)
    return call(ops.soft_margin_loss, (input, target, reduction))


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """Negative log-likelihood of Poisson counts; log_input: `input` is the logarithm of the rate."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not log_input.__class__ is full.__class__ is bool:
        ask_parser("poisson_nll_loss", (input, target, log_input, full, eps, 1), {})
    return call(ops.poisson_nll_loss, (input, target, bool(log_input), bool(full), float(eps), reduction))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of a normal distribution with mean `input` and variance `var` (a tensor or a number)."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        from ...tensor.api.creation import full_like
        var = full_like(input.detach(), var)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    shape, given = tuple(input.shape), tuple(var.shape)
    if given != shape:
        if shape[:-1] == given:
            var = var.unsqueeze(-1)
        elif shape[:-1] != given[:-1] or given[-1:] != (1,):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return call(ops.gaussian_nll_loss, (input, target, var, bool(full), float(eps), reduction))
