"""Dropout: the mask is drawn on the host from the generator's stream and enters the trace as an input."""
from __future__ import annotations

import numpy as np

from ...engine import context, meta_of, value_of, warn
from ...ops.nn import dropout as ops
from ...ops import promotion as P
from ...ops.registry import SF, T
from ...random.batches import batch_of, differing, for_each
from ...random.fills import placed
from ...random.generator import stream
from ...tensor.api.bind import call, call_inplace, type_name
from ...tensor.api.creation import like_strides
from ...tensor.api.reduction import need_tensor
from ...tensor.core.dispatch import apply, wrap
from ...tensor.core.write import apply_inplace

_LAYOUT = (T, T, SF)


def probability(p, error=RuntimeError):
    """The error of a `p` that is no probability; the functions of nn.functional raise a ValueError, those of torch what is given here."""
    if not 0.0 <= p <= 1.0:
        raise (RuntimeError if p != p else error)(f"dropout probability has to be between 0 and 1, but got {p}")


def _check(p):
    probability(p, ValueError)


def _check_train(name, training):
    if not isinstance(training, (bool, np.bool_)):
        raise TypeError(f"{name}(): argument 'train' (position 3) must be bool, not {type_name(training)}")


def kept(shape, p, like, strides=None):
    """A fresh mask of the elements to keep, drawn in memory order."""
    if P.kind_of(like._ts_meta.dtype) == 3:    # torch draws them in the dtype of what they are for
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{P.c_name(like._ts_meta.dtype)}'")
    level = differing()
    if level is not None:
        return for_each(level, lambda whole: kept(whole, p, like), shape)
    if strides is not None and "transform" in context.modes and batch_of(like) is not None:
        strides = None                         # torch draws them for a new example, and copies it
    meta = meta_of(shape, "bool", like._ts_meta.device, strides)
    if like._ts_meta.device == "meta":
        return wrap(value_of(None, meta))
    return wrap(placed(stream(None, meta.device).bernoulli(meta.numel, 1.0 - p), meta))


def _run(op, inplace, tensors, p):
    if inplace:
        return apply_inplace(op.inplace_op, tensors, _LAYOUT, (float(p),), "f")
    return apply(op, tensors, _LAYOUT, (float(p),), "f")


def _drop_all(input, inplace):
    return call_inplace(ops.drop_all, (input,)) if inplace else call(ops.drop_all, (input,))


def _drop(input, p, shape=None, inplace=False):
    """Whole elements, or everything that shares an element of a mask of `shape`."""
    m = input._ts_meta
    if not m.numel:
        return input
    if P.kind_of(m.dtype) < 2 and p != 1:
        kept(m.shape, p, input)                # as in torch the numbers are drawn before it fails
        raise RuntimeError(f"result type Float can't be cast to the desired output type {P.c_name(m.dtype)}")
    if p == 1:
        return _drop_all(input, inplace)
    if shape is None:
        mask = kept(m.shape, p, input, None if m.contiguous else like_strides(m))
    else:
        mask = kept(shape, p, input)
    return _run(ops.dropout, inplace, (input, mask), p)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p); nothing happens unless training."""
    if p.__class__ is not float and getattr(p, "requires_grad", False):
        raise TypeError("dropout(): argument 'p' (position 2) must be float, not Tensor")
    if not 0.0 <= p <= 1.0:
        _check(p)
    if training.__class__ is not bool:
        _check_train("dropout", training)
    if not training or p == 0:
        return need_tensor("dropout", input)
    return _drop(input, p, None, inplace)


def _channels(x):
    return tuple(x.shape[:2]) + (1,) * (x.dim() - 2)


def _feature(name, spatial, input, p, training, inplace):
    _check(p)
    n = input.dim()
    ok = (spatial + 1, spatial + 2)
    if n not in ok:
        if spatial == 1:
            raise RuntimeError(f"{name}: Expected 2D or 3D input, but received a {n}D input. Note that dropout1d exists to provide "
                               "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
                               "dimension (i.e. 2D or 3D inputs).")
        warn(f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a future release. "
             "To retain the behavior and silence this warning, please use dropout instead. Note that "
             f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, "
             f"and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).")
    # dropout2d never adds a batch dimension
    batched = n == spatial + 2 or spatial == 2
    if spatial == 2 and n == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
             "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release "
             "to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
             "channel-wise dropout behavior, please switch to using dropout1d instead.")
    _check_train("feature_dropout", training)
    if not training or p == 0:
        return input if batched else input.unsqueeze_(0).squeeze_(0) if inplace else input.unsqueeze(0).squeeze(0)
    if batched:
        return whole_channels(input, p, True, inplace)
    if inplace:
        return whole_channels(input.unsqueeze_(0), p, True, True).squeeze_(0)
    return whole_channels(input.unsqueeze(0), p, True).squeeze(0)


def whole_channels(input, p, training, inplace=False):
    """Dropout of whole channels of (N, C, ...)."""
    _check(p)
    if not training or p == 0 or not input._ts_meta.numel:
        return input
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _drop(input, p, _channels(input), inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Zero whole channels of (N, C, L) or (C, L)."""
    return _feature("dropout1d", 1, input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Zero whole channels of (N, C, H, W)."""
    return _feature("dropout2d", 2, input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Zero whole channels of (N, C, D, H, W)."""
    return _feature("dropout3d", 3, input, p, training, inplace)


def _alpha(input, p, shape, inplace, strides=None):
    if not input._ts_meta.numel:
        return input
    if p == 1:
        return _drop_all(input, inplace)
    d = input._ts_meta.dtype
    if P.kind_of(d) < 2:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {'Long' if d == P.bool_ else P.c_name(d)}")
    mask = kept(shape, p, input, strides)
    return _run(ops.alpha_dropout, inplace, (input, mask), p)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps SELU's mean and variance."""
    _check(p)
    need_tensor("alpha_dropout", input)
    _check_train("alpha_dropout", training)
    if not training or p == 0:
        return input
    return _alpha(input, p, tuple(input.shape), inplace, None if input._ts_meta.contiguous else like_strides(input._ts_meta))


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    _check(p)
    need_tensor("feature_alpha_dropout", input)
    _check_train("feature_alpha_dropout", training)
    if not training or p == 0:
        return input
    if input.dim() < 2 and input._ts_meta.numel and p != 1:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return _alpha(input, p, _channels(input), inplace)
