"""Embeddings whose weights get sparse gradients: one row for each index."""
from __future__ import annotations

import numpy as np

from ...autograd.function import Function, FunctionNode
from ...autograd.sparse_gradients import begin
from ...engine import context
from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.graph import Node, node_class
from ...tensor.core.tensor import tensor_from
from ...tensor.sparse.base import host


def _rows(indices, rows, weight_shape, padding_idx):
    """A sparse tensor: row k of `rows` belongs to the weight's row indices[k]; none to padding_idx."""
    if not rows.numel():
        indices, rows = indices[:0], rows.new_empty(0, weight_shape[1])
    elif padding_idx >= 0:
        kept = np.flatnonzero(host(indices) != padding_idx)
        if len(kept) < indices.shape[0]:
            kept = tensor_from(kept, indices._ts_meta.device)
            indices, rows = indices[kept], rows[kept]
    return FUNCTIONS["sparse_coo_tensor"](indices.unsqueeze(0), rows, weight_shape, check_invariants=False)


class _Embedding(Function):
    @staticmethod
    def forward(ctx, weight, indices, padding_idx, scale_grad_by_freq, compute):
        ctx.save_for_backward(indices)
        ctx.padding_idx, ctx.scale_grad_by_freq, ctx.shape = padding_idx, scale_grad_by_freq, tuple(weight.shape)
        return compute(weight)

    @staticmethod
    def backward(ctx, g):
        if ctx.scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        indices, = ctx.saved_tensors
        if ctx.padding_idx >= 0 and not indices.ndim:         # torch indexes it with a mask
            raise IndexError("too many indices for tensor of dimension 0 (got 1)")
        return _rows(indices.reshape(-1), g.reshape(indices.numel(), ctx.shape[1]), ctx.shape, ctx.padding_idx), None, None, None, None


class _EmbeddingBag(Function):
    @staticmethod
    def forward(ctx, weight, per_sample_weights, indices, offsets, mode, padding_idx, bags, scale_grad_by_freq, compute):
        ctx.save_for_backward(weight, per_sample_weights, indices, offsets)
        ctx.mode, ctx.padding_idx, ctx.bags, ctx.scale_grad_by_freq = mode, padding_idx, bags, scale_grad_by_freq
        return compute(weight, per_sample_weights)

    @staticmethod
    def backward(ctx, g):
        if ctx.scale_grad_by_freq and ctx.needs_input_grad[0]:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        weight, per_sample_weights, indices, offsets = ctx.saved_tensors
        begin = host(offsets)[:ctx.bags]
        bag = np.searchsorted(begin, np.arange(indices.shape[0]), side="right") - 1
        rows = g.index_select(0, tensor_from(bag, g._ts_meta.device))
        if ctx.mode == "mean":
            counts = np.bincount(bag[host(indices) != ctx.padding_idx], minlength=ctx.bags)
            rows = rows / tensor_from(np.maximum(counts, 1)[bag], g._ts_meta.device).to(g.dtype).unsqueeze(1)
        factors = None
        if per_sample_weights is not None:
            if ctx.needs_input_grad[1]:
                factors = (rows * weight.index_select(0, indices)).sum(1) * (indices != ctx.padding_idx)
            rows = rows * per_sample_weights.unsqueeze(1)
        made = _rows(indices, rows, tuple(weight.shape), ctx.padding_idx) if ctx.needs_input_grad[0] else None
        return made, factors, None, None, None, None, None, None, None


def wanted(weight):
    """Whether a call with this weight makes a gradient."""
    return context.grad is True and weight.requires_grad


class _Node(FunctionNode):
    """The history of a lookup with a sparse gradient, which in torch is an operator's."""
    __slots__ = ()
    _ts_home = Node._ts_home


def embedding(weight, indices, padding_idx, scale_grad_by_freq, compute):
    """`compute(weight)`, with a sparse gradient."""
    begin()
    out = _Embedding.apply(weight, indices, padding_idx, scale_grad_by_freq, compute)
    out.grad_fn.__class__ = node_class("EmbeddingBackward0", _Node)
    return out


def embedding_bag(weight, per_sample_weights, indices, offsets, mode, padding_idx, bags, scale_grad_by_freq, compute):
    """`compute(weight, per_sample_weights)`, with a sparse gradient."""
    begin()
    out = _EmbeddingBag.apply(weight, per_sample_weights, indices, offsets, mode, padding_idx, bags, scale_grad_by_freq, compute)
    out.grad_fn.__class__ = node_class("EmbeddingBagBackward0", _Node)
    return out
