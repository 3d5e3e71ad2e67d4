"""multi_head_attention_forward as the public functions that torch writes it with; see `decomposed` and `above`."""
from __future__ import annotations

import math

import torchshim as torch

from ..nn import functional as F
from ..nn.functional.multihead import _mha_shape_check, canonical_mask, none_or_dtype
from .decomposed import rule


def _parts(x, n):
    """A product's result in n parts."""
    x = x.unflatten(-1, (n, x.shape[-1] // n)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [x[k] for k in range(n)]


def _projected(q, k, v, w, b):
    width = q.shape[-1]
    if k is v and q is k:
        return _parts(F.linear(q, w, b), 3)
    if k is v:
        wq, wkv = w.split([width, 2 * width])
        bq, bkv = (None, None) if b is None else b.split([width, 2 * width])
        return [F.linear(q, wq, bq), *_parts(F.linear(k, wkv, bkv), 2)]
    return [F.linear(x, each, bias) for x, each, bias in zip((q, k, v), w.chunk(3), (None,) * 3 if b is None else b.chunk(3))]


@rule("multi_head_attention_forward")
def multi_head(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
               out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
               use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
               average_attn_weights=True, is_causal=False):
    """The function of nn.functional; static_k and static_v are not known here."""
    if static_k is not None or static_v is not None:
        raise NotImplementedError("torchshim: multi_head_attention_forward with static_k or static_v under __torch_dispatch__")
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None
    head = width // num_heads
    if use_separate_proj_weight:
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = [F.linear(x, w, b) for x, w, b in zip((query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), biases)]
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None and attn_mask.dim() == 2:
        attn_mask = attn_mask.unsqueeze(0)
    if bias_k is not None:
        k, v = torch.cat([k, bias_k.repeat(1, batch, 1)]), torch.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = [m if m is None else F.pad(m, (0, 1)) for m in (attn_mask, key_padding_mask)]
    q, k, v = [x.view(x.shape[0], batch * num_heads, head).transpose(0, 1) for x in (q, k, v)]
    if add_zero_attn:
        shape = batch * num_heads, 1, head
        k = torch.cat([k, torch.zeros(shape, dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros(shape, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask, key_padding_mask = [m if m is None else F.pad(m, (0, 1)) for m in (attn_mask, key_padding_mask)]
    keys = k.size(1)
    if key_padding_mask is not None:
        key_padding_mask = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, keys)
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scaled = q * math.sqrt(1.0 / head)
        scores = torch.bmm(scaled, k.transpose(-2, -1)) if attn_mask is None else torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        weights = F.softmax(scores, dim=-1)
        weights = F.dropout(weights, p=dropout_p) if dropout_p > 0.0 else weights
        out = torch.bmm(weights, v).transpose(0, 1).reshape(length * batch, width)
        out = F.linear(out, out_proj_weight, out_proj_bias)
        out = out.view(length, batch, out.size(1))
        weights = weights.view(batch, num_heads, length, keys)
        weights = weights.mean(dim=1) if average_attn_weights else weights
        return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 and attn_mask.dim() == 3 else attn_mask.view(
            batch, num_heads, -1, keys)
    q, k, v = [x.view(batch, num_heads, x.shape[1], head) for x in (q, k, v)]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = F.linear(out.permute(2, 0, 1, 3).reshape(batch * length, width), out_proj_weight, out_proj_bias)
    out = out.view(length, batch, out.size(1))
    return (out if batched else out.squeeze(1)), None
