"""Cross entropy behind a linear layer."""
from __future__ import annotations

import math

import numpy as np

from ...engine import warn
from ...tensor.api.products import linear
from .losses import cross_entropy


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, options=None):
    """cross_entropy(linear(input, linear_weight, linear_bias), target) for input (N, features) or (features,).

    linear_weight: (classes, ..., features); the dimensions between are those of a K-dimensional loss. options: how torch cuts the
    batch to save memory; the value does not depend on it.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    batch, features = tuple(input.shape[:-1]), input.shape[-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.shape[-1]}, respectively")
    outs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outs:
        raise RuntimeError(f"expected linear_bias shape {outs}, got {tuple(linear_bias.shape)}")
    if len(outs) > 1 and not batch:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
                           f"(N, {features}), got unbatched input with shape {tuple(input.shape)}")
    if tuple(target.shape) == (*batch, *outs) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None and (len(outs) > 1 or reduction not in ("mean", "sum", "none") or label_smoothing or
                                target._ts_meta.dtype != np.int64):
        shape = tuple(linear_bias.shape) if linear_bias is not None else None
        warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing == 0, "
             f"target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
             f"target.dtype={target.dtype}, out_features={outs[1:]}, tracing=False, linear_bias.shape={shape}.")
    if len(outs) > 1:
        linear_weight = linear_weight.reshape(math.prod(outs), features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(math.prod(outs))
    logits = linear(input, linear_weight, linear_bias).reshape(*batch, *outs)
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index,
                         label_smoothing=label_smoothing)
