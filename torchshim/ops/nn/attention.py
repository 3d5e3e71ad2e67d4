"""Scaled dot-product attention as one operator."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from ...engine.interpret.attend import Attention
from .. import promotion as P
from ..common import peak, wide
from ..layout import kept_strides
from ..products import precision
from ..registry import T, op


def is_flash(q, k, v, keep, enable_gqa):
    """Whether torch's CPU kernel takes it, apart from masks that need a gradient; else it multiplies matrices."""
    if q.ndim != 4 or keep is not None or any([m.strides[-1] != 1 for m in (q, k, v)]):
        return False
    return q.shape[0] == k.shape[0] and q.shape[-1] == v.shape[-1] and (enable_gqa or q.shape[1] == k.shape[1])


def _name(inst, wanted=()):
    q, k, v = inst.in_metas[:3]
    if not (q.numel and k.numel and v.numel):
        return "AddBackward0"
    if 3 not in wanted and is_flash(q, k, v, inst.layout[4], inst.layout[8]):
        return "ScaledDotProductFlashAttentionForCpuBackward0"
    if q.dtype in (P.float16, P.bfloat16):     # multiplied in float32
        return "ToCopyBackward0"
    return "MmBackward0" if q.ndim == k.ndim == 2 else "UnsafeViewBackward0"


def _saved(inst, wrt):
    """torch's kernel reads all it was given again, and its result."""
    return None if _copied(inst, wrt) else (~0, ~1, ~2, 0)


def _as_stack(inst):
    """The values that torch multiplies are a view of one stack of matrices, or more of them where they are expanded."""
    v = inst.in_metas[2]
    if is_flash(*inst.in_metas[:3], inst.layout[4], inst.layout[8]) and (inst.layout[3] is not T) or v.ndim < 3:
        return {}
    return {2: (math.prod(v.shape[:-2]), *v.shape[-2:])} if inst.in_metas[0].shape[:-2] == v.shape[:-2] and v.contiguous else {}


def _copied(inst, wrt):
    """What is multiplied as matrices are was scaled before, and a mask is no more than added."""
    if _name(inst).startswith("Scaled") and 3 not in wrt:
        return ()
    return (0, 1, 3) if inst.layout[3] is T else (0, 1)


def _strides(inst, query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa):
    """torch's kernel writes a tensor laid out as the query."""
    return kept_strides(query) if is_flash(query, key, value, keep, enable_gqa) else None


@jax.custom_jvp
def _weights(s):
    """softmax along the last dimension; zeros for a row of -inf, whose top would make exp() nan."""
    top = peak(s, -1)
    e = jnp.exp(s - jnp.where(jnp.isneginf(top), 0, top))
    total = jnp.sum(e, -1, keepdims=True)
    return e / jnp.where(total == 0, 1, total)


@_weights.defjvp
def _weights_tangent(primals, tangents):
    w, t = _weights(*primals), tangents[0]
    return w, w * (t + -jnp.sum(w * t, -1, keepdims=True))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _rounded_weights(s, dtype):
    """`_weights` as torch's kernel has them for half numbers: the exponentials are rounded before they are multiplied, not in their sum."""
    top = peak(s, -1)
    e = jnp.exp(s - jnp.where(jnp.isneginf(top), 0, top))
    total = jnp.sum(e, -1, keepdims=True)
    return e.astype(dtype).astype(s.dtype) / jnp.where(total == 0, 1, total)


@_rounded_weights.defjvp
def _rounded_weights_tangent(dtype, primals, tangents):
    return _rounded_weights(*primals, dtype), _weights_tangent(primals, tangents)[1]


def _of_halves(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa):
    """The body for half numbers that torch's CPU kernel takes."""
    if query.dtype in (P.float16, P.bfloat16) and is_flash(query, key, value, keep, enable_gqa):
        return _attend_halves


def _results(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa):
    """Shapes and dtypes, where the operands are what models mostly give; the others are traced."""
    q, k, v = query, key, value
    if (q.dtype == k.dtype == v.dtype and (attn_mask is None or attn_mask.dtype in (q.dtype, P.bool_))
            and _share_heads(q, k, v, enable_gqa) and q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
            and (attn_mask is None or _broadcasts(attn_mask.shape, (*q.shape[:-1], k.shape[-2])))):
        return [((*q.shape[:-1], v.shape[-1]), q.dtype)]


def _share_heads(q, k, v, enable_gqa):
    """Whether the dimensions before the last two are the same, but that heads of queries may share keys and values."""
    if min(q.ndim, k.ndim, v.ndim) < 2 or k.shape[:-2] != v.shape[:-2]:
        return False
    lead, other = q.shape[:-2], k.shape[:-2]
    return lead == other or (enable_gqa and len(lead) == len(other) > 0 and lead[:-1] == other[:-1] and other[-1] > 0
                             and lead[-1] % other[-1] == 0)


def _broadcasts(shape, to):
    return len(shape) <= len(to) and all([a in (1, b) for a, b in zip(shape[::-1], to[::-1])])


def _attention_of(inst, wants=()):
    """It in NumPy: for floats."""
    q, k, v = inst.in_metas[:3]
    _, _, _, mask, keep, _, causal, scale, enable_gqa = inst.layout
    if (q.dtype in (P.float32, P.float64) and _share_heads(q, k, v, enable_gqa)
            and q.numel and k.numel and v.numel and all([m.dtype in (q.dtype, P.bool_) for m in inst.in_metas])):
        return Attention(q.shape, k.shape, v.shape, q.dtype, causal, mask is not None, wants,
                         1 / math.sqrt(q.shape[-1]) if scale is None else None, keep is not None)


def _on_host(inst):
    made = _attention_of(inst)
    return made and made.forward


def _back_on_host(inst, plan):
    made = _attention_of(inst, plan.needs)
    n = len(inst.in_metas)
    if made and max(plan.needs) < 3 and plan.args == tuple(range(n)) and len(plan.nums) == len(inst.kinds):
        back = made.backward
        return back if not plan.outs else lambda *arrays: back(*arrays[:n], *arrays[n + 1:])       # the result is only kept


@op("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? keep, float? p, bool is_causal, "
    "float? scale, bool enable_gqa) -> Tensor", grad=_name, grad_for=_name, strides=_strides, results=_results, host=_on_host,
    host_back=_back_on_host, nondiff=("keep",), variant=_of_halves, function=False, method=False, saves=_saved, copied=_copied, seen=_as_stack)
def attention(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa):
    """softmax(query @ key^T * scale + mask) @ value; a row that may see nothing gives zeros.

    keep, p: the mask and probability of dropout on the weights.
    """
    return _attend(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa, _weights)


def _attend_halves(query, *others):
    return _attend(query, *others, lambda s: _rounded_weights(s, query.dtype))


def _attend(query, key, value, attn_mask, keep, p, is_causal, scale, enable_gqa, weights):
    q, k, v = wide(query), wide(key), wide(value)
    if enable_gqa:
        k = jnp.repeat(k, q.shape[-3] // k.shape[-3], -3)
        v = jnp.repeat(v, q.shape[-3] // v.shape[-3], -3)
    if scale is None and q.shape[-1]:
        scale = 1 / jnp.sqrt(jnp.float64(q.shape[-1]))
    if scale is not None:
        q = q * jnp.asarray(scale, q.dtype)
    # the product of two half numbers, widened, fits TensorFloat32 almost as it is, and the half result knows no better
    rounds = precision() if query.dtype == q.dtype else jax.lax.Precision.HIGH
    s = jnp.matmul(q, jnp.swapaxes(k, -1, -2), precision=rounds)
    if is_causal:
        seen = jnp.arange(s.shape[-1]) <= jnp.arange(s.shape[-2])[:, None]
        s = jnp.where(seen, s, -jnp.inf)
    if attn_mask is not None:
        s = jnp.where(attn_mask, s, -jnp.inf) if attn_mask.dtype == jnp.bool_ else s + attn_mask.astype(s.dtype)
    w = weights(s)
    if keep is not None:
        w = w * (keep.astype(w.dtype) / (1 - p).astype(w.dtype))
    return jnp.matmul(w, v, precision=rounds).astype(query.dtype)
