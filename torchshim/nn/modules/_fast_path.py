"""The fast path of attention modules: what `MultiheadAttention` and `TransformerEncoderLayer` compute in evaluation without gradients.

Its masks hide or do not (any number but zero hides), and a query that may see nothing gives NaN, unlike elsewhere. Nested tensors
are computed as padded ones whose padding is hidden.
"""
from __future__ import annotations

import math

from ...amp.autocast_mode import is_autocast_enabled
from ...engine import context
from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.dtype import ALL
from .. import functional as F


def why_not(tensors):
    """Why modules whose settings allow the fast path do not take it with these tensors; "" where they do."""
    from ...overrides import has_torch_function            # programs without attention do without it
    if is_autocast_enabled():
        return "autocast is enabled"
    if has_torch_function(tensors):
        return "some Tensor argument has_torch_function"
    if context.grad and any([t is not None and t.requires_grad for t in tensors]):
        return "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"
    return ""


def _hidden(mask, mask_type, batch, length):
    """A mask as a bool one (B, 1 or H, 1 or L, L)."""
    hidden = mask if mask.dtype == ALL["bool"] else mask != 0
    if mask_type == 1:
        if tuple(mask.shape) != (batch, length):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        return hidden.view(batch, 1, 1, length)
    if mask_type == 0:
        if tuple(mask.shape) != (length, length):
            raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
        return hidden.view(1, 1, length, length)
    return hidden


def _padded(x):
    """A nested tensor with zeros after its parts, their lengths, and where the padding is."""
    lengths = [len(part) for part in x.unbind()]
    y = x.to_padded_tensor(0.0)
    until = FUNCTIONS["arange"](y.shape[1], device=x.device)
    return y, lengths, until >= FUNCTIONS["tensor"](lengths, device=x.device)[:, None]


def _unpadded(y, lengths):
    from ...nested import as_nested_tensor
    return as_nested_tensor([row[:n] for row, n in zip(y, lengths)])


def _native_multi_head_attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None,
                                need_weights=True, average_attn_weights=True, mask_type=None):
    """Attention of `query` (B, L, E), or of a nested tensor, to itself: (output, weights (B, L, L), by head (B, H, L, L), or None).

    mask_type: 0 for a mask (L, L), 1 for one of padding (B, L), 2 for (B, H, L, L).
    """
    if query is not key or key is not value:
        raise NotImplementedError("torchshim: torch._native_multi_head_attention of other keys and values than the query")
    if query.is_nested:
        padded, lengths, absent = _padded(query)
        y, weights = _native_multi_head_attention(padded, padded, padded, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight,
                                                 proj_bias, absent, need_weights, average_attn_weights, 1)
        if weights is not None:
            weights = weights.masked_fill(absent[:, None, :, None] if weights.dim() == 4 else absent[:, :, None], 0.0)
        return _unpadded(y, lengths), weights
    batch, length, _ = query.shape
    head = embed_dim // num_head
    q, k, v = [x.view(batch, length, num_head, head).transpose(1, 2) for x in F.linear(query, qkv_weight, qkv_bias).chunk(3, -1)]
    scores = (q * (1.0 / math.sqrt(head))) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(_hidden(mask, mask_type, batch, length), -math.inf)
    weights = scores.softmax(-1)
    y = F.linear((weights @ v).transpose(1, 2).reshape(batch, length, embed_dim), proj_weight, proj_bias)
    if not need_weights:
        return y, None
    return y, weights.sum(1) / num_head if average_attn_weights else weights


def _transformer_encoder_layer_fwd(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
                                  norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
                                  ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):
    """A layer of a Transformer's encoder on `src` (B, L, E), or on a nested tensor; masks as `_native_multi_head_attention` takes them."""
    if src.is_nested:
        padded, lengths, absent = _padded(src)
        return _unpadded(_transformer_encoder_layer_fwd(
            padded, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
            norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, absent, 1), lengths)
    first = lambda x: F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)
    second = lambda x: F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)
    x = first(src) if norm_first else src
    x = _native_multi_head_attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True,
                                     mask_type)[0] + src
    x = x if norm_first else first(x)
    between = F.linear(second(x) if norm_first else x, ffn_weight_1, ffn_bias_1)
    x = F.linear((F.gelu if use_gelu else F.relu)(between), ffn_weight_2, ffn_bias_2) + x
    return x if norm_first else second(x)
