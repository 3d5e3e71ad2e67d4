"""multi_head_attention_forward: projections, heads and masks around scaled_dot_product_attention."""
from __future__ import annotations

import math
import warnings

from ...ops import promotion as P
from ...tensor.api.bind import FUNCTIONS
from ...tensor.api.products import linear
from .attention import scaled_dot_product_attention
from .dropouts import dropout
from .padding import pad
from .softmaxes import softmax


def none_or_dtype(t):
    """A tensor's dtype; None for None."""
    return None if t is None else t.dtype


def canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask to be added: a bool one becomes -inf where it is True. AssertionError for other dtypes."""
    if mask is None:
        return None
    kind = P.kind_of(mask._ts_meta.dtype)
    if kind not in (0, 2):
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=3)
    if kind == 2:
        return mask
    return FUNCTIONS["zeros_like"](mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch dimension; AssertionError for ranks that do not go together."""
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    called = f"For {'batched (3-D)' if n == 3 else 'unbatched (2-D)'} `query`, expected "
    if key.dim() != n or value.dim() != n:
        raise AssertionError(f"{called}`key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(f"{called}`key_padding_mask` to be `None` or {n - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"{called}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
        wanted = (num_heads, query.shape[0], key.shape[0])
        if n == 2 and attn_mask.dim() == 3 and tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return n == 3


def _in_projection_packed(q, k, v, w, b=None):
    """The three projections by one weight (3 E, E); as few products as the arguments allow."""
    e = q.shape[-1]
    if k is v and q is k:
        return linear(q, w, b).chunk(3, -1)
    if k is v:
        w_q, w_kv = w.split([e, 2 * e])
        b_q, b_kv = (None, None) if b is None else b.split([e, 2 * e])
        return linear(q, w_q, b_q), *linear(k, w_kv, b_kv).chunk(2, -1)
    weights, biases = w.chunk(3), (None,) * 3 if b is None else b.chunk(3)
    return [linear(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases)]


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """The three projections by weights of their own; AssertionError for one that does not fit."""
    width, given = q.size(-1), tuple(zip(("query", "key", "value"), (q, k, v), (w_q, w_k, w_v), (b_q, b_k, b_v)))
    for name, x, w, _ in given:
        if w.shape != (width, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(width, x.size(-1))}, but got {w.shape}")
    for name, _, _, b in given:
        if b is not None and b.shape != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {b.shape}")
    return tuple([linear(x, w, b) for _, x, w, b in given])


def _check_static(name, t, count, width):
    for d, n in ((0, count), (2, width)):
        if t.size(d) != n:
            raise AssertionError(f"expecting {name}.size({d}) of {n}, but got {t.size(d)}")


def _one_more(mask):
    return None if mask is None else pad(mask, (0, 1))


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None,
                                 v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True, is_causal=False):
    """Attention of query (L, N, E) to key and value (S, N, E), or all without N: (output, weights or None).

    in_proj_weight: the three input projections in one, or with use_separate_proj_weight q_, k_ and v_proj_weight; bias_k, bias_v: one
    more key and value; add_zero_attn: one more of zeros; key_padding_mask (N, S) and attn_mask (L, S) or (N num_heads, L, S): True or
    -inf hides; is_causal: a hint that attn_mask is causal; static_k, static_v: stand for the projected key and value.
    """
    if not _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
        same_kv, same_qk = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        batched = False
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    else:
        batched = True
    length, batch, width = query.shape
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None                       # the hint alone does
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        for name, w in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if w is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, *biases)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        wanted = (length, key.shape[0]) if attn_mask.dim() == 2 else (batch * num_heads, length, key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {wanted}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    if (bias_k is None) != (bias_v is None):
        given, other = ("k", "v") if bias_v is None else ("v", "k")
        raise AssertionError(f"bias_{given} is set but bias_{other} is None")
    cat = FUNCTIONS["cat"]
    if bias_k is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    heads = []
    for name, static, x in (("static_k", static_k, k), ("static_v", static_v, v)):
        if static is not None:
            _check_static(name, static, batch * num_heads, head)
        heads.append(x.reshape(x.shape[0], batch * num_heads, head).transpose(0, 1) if static is None else static)
    k, v = heads
    if add_zero_attn:
        nothing = FUNCTIONS["zeros"]((batch * num_heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = cat([k, nothing], dim=1), cat([v, nothing], dim=1)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    source = k.size(1)
    if key_padding_mask is not None:
        _check_padding(key_padding_mask, source, batch)
        hidden = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, source)
        attn_mask = hidden if attn_mask is None else attn_mask + hidden
    if not training:
        dropout_p = 0.0
    if need_weights:
        y, weights = _with_weights(q, k, v, attn_mask, dropout_p)
        y = y.transpose(0, 1).reshape(length * batch, width)
        weights = weights.view(batch, num_heads, length, source)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        if attn_mask is not None:
            attn_mask = attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 else attn_mask.view(batch, num_heads, -1, source)
        q, k, v = q.view(batch, num_heads, length, head), k.view(batch, num_heads, source, head), v.view(batch, num_heads, source, head)
        y = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        y, weights = y.permute(2, 0, 1, 3).reshape(batch * length, width), None
    y = linear(y, out_proj_weight, out_proj_bias)
    y = y.view(length, batch, y.size(1))
    if not batched:
        y, weights = y.squeeze(1), None if weights is None else weights.squeeze(0)
    return y, weights


def _check_padding(mask, source, batch):
    if mask.shape[0] != batch:
        raise AssertionError(f"Expected key_padded_mask.shape[0] to be {batch}, but got {mask.shape[0]}")
    if mask.shape[1] != source:
        raise AssertionError(f"Expected key_padded_mask.shape[1] to be {source}, but got {mask.shape[1]}")


def _with_weights(q, k, v, attn_mask, dropout_p):
    """(output, weights) of heads (N num_heads, L, E)."""
    scaled = q * math.sqrt(1.0 / float(q.shape[-1]))
    scores = FUNCTIONS["bmm"](scaled, k.transpose(-2, -1)) if attn_mask is None else \
        FUNCTIONS["baddbmm"](attn_mask, scaled, k.transpose(-2, -1))
    weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, p=dropout_p)
    return FUNCTIONS["bmm"](weights, v), weights
