"""Kernels that `torch` shows under private names, in terms of the functions that call them."""
from __future__ import annotations

import math

from ...ops.nn import softmax as softmax_ops
from ...tensor.api.bind import FUNCTIONS, call, function
from . import norms


def _softmax(name):
    def f(self, dim, half_to_float):
        if half_to_float:
            raise RuntimeError("softmax with half to float conversion is not supported on CPU")
        return call(getattr(softmax_ops, name), (self, dim, None))
    f.__doc__ = f"As {name}; `half_to_float` is for other devices (RuntimeError)."
    return function(f"_{name}", method=False)(f)


softmax, log_softmax = _softmax("softmax"), _softmax("log_softmax")


@function("_chunk_cat", method=False)
def chunk_cat(tensors, dim, num_chunks):
    """Each tensor, filled up with zeros, in `num_chunks` parts along `dim`, whose elements follow each other in one dimension; these
    joined: (sizes before `dim`, num_chunks, elements)."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    rows = []
    for t in tensors:
        size = list(t.shape)
        missing = -size[dim] % num_chunks
        if missing:
            size[dim] = missing
            t = FUNCTIONS["cat"]([t, t.new_zeros(size)], dim)
        lead = t.shape[:dim]
        rows.append(t.reshape(*lead, num_chunks, t.numel() // (math.prod(lead) * num_chunks)))
    return FUNCTIONS["cat"](rows, dim + 1)


@function("_unsafe_masked_index", method=False)
def unsafe_masked_index(self, mask, indices, fill):
    """self[indices], and `fill` where the mask is false: there an index may be out of range."""
    places = tuple([slice(None) if i is None else i.clamp(0, n - 1) for i, n in zip(indices, self.shape)])
    return self[places].masked_fill(mask.logical_not(), fill)


@function("_native_batch_norm_legit", method=False)
def native_batch_norm_legit(input, weight, bias, *rest):
    """(batch_norm, the means and 1 / standard deviations of a training batch, else nothing): input, weight, bias, running_mean and
    running_var (written; or neither of them), training, momentum, eps."""
    running_mean, running_var, training, momentum, eps = rest if len(rest) == 5 else (None, None, *rest)
    out = norms._by_channels(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_zeros((0,)), input.new_zeros((0,))
    x, others = input.detach(), [d for d in range(input.ndim) if d != 1]
    return out, x.mean(others), (x.var(others, correction=0) + eps).rsqrt()


@function("_embedding_bag", method=False)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    """torch.embedding_bag, in which a negative padding_idx stands for none."""
    return FUNCTIONS["embedding_bag"](weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                                      None if padding_idx < 0 else padding_idx)
