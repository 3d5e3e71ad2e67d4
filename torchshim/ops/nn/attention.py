"""Scaled dot-product attention as one operator."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ..common import wide
from ..registry import op


def _name(inst):
    q, k = inst.in_metas[0], inst.in_metas[1]
    flash = q.ndim == 4 and inst.layout[4] is None and q.shape[:2] == k.shape[:2]
    return "ScaledDotProductFlashAttentionForCpuBackward0" if flash else "UnsafeViewBackward0"


@op("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? keep, float? p, bool is_causal, "
    "float? scale, bool enable_gqa) -> Tensor", grad=_name, nondiff=("keep",), function=False, method=False)
def attention(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa):
    """softmax(query @ key^T * scale + mask) @ value; a row that may see nothing gives zeros.

    keep, p: the mask and probability of dropout on the weights.
    """
    q, k, v = wide(query), wide(key), wide(value)
    if enable_gqa:
        k = jnp.repeat(k, q.shape[-3] // k.shape[-3], -3)
        v = jnp.repeat(v, q.shape[-3] // v.shape[-3], -3)
    scale = 1 / q.shape[-1] ** 0.5 if scale is None and q.shape[-1] else scale
    if scale is not None:
        q = q * jnp.asarray(scale, q.dtype)
    s = jnp.matmul(q, jnp.swapaxes(k, -1, -2))
    if is_causal:
        seen = jnp.arange(s.shape[-1]) <= jnp.arange(s.shape[-2])[:, None]
        s = jnp.where(seen, s, -jnp.inf)
    if attn_mask is not None:
        s = jnp.where(attn_mask, s, -jnp.inf) if attn_mask.dtype == jnp.bool_ else s + attn_mask.astype(s.dtype)
    # the peak of a row that sees nothing is -inf: 0 there keeps exp() free of nan
    peak = jax.lax.stop_gradient(jnp.max(s, -1, keepdims=True, initial=-jnp.inf))
    e = jnp.exp(s - jnp.where(jnp.isneginf(peak), 0, peak))
    total = jnp.sum(e, -1, keepdims=True)
    w = e / jnp.where(total == 0, 1, total)
    if keep is not None:
        w = w * (keep.astype(w.dtype) / (1 - p).astype(w.dtype))
    return jnp.matmul(w, v).astype(query.dtype)
