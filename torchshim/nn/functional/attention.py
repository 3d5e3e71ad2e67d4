"""scaled_dot_product_attention."""
from __future__ import annotations

from ...engine import context, warn
from ...ops import promotion as P
from ...ops.common import size_at
from ...ops.layout import broadcast_shapes
from ...ops.nn import attention as ops
from ...ops.registry import SF, T
from ...tensor.core.dispatch import apply
from .dropouts import kept, probability


#: Which ways to compute attention are allowed (torch.backends.cuda, torch.nn.attention). There is one here; what torch refuses is refused.
allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "math_reduced": False}


_C_TYPES = {"int32": "int"}


_BROADCAST = "To broadcast dense inputs, try using unsqueeze and expand_to before passing them into the kernel."


def _unequal(q, k, v, enable_gqa):
    """Why torch's fused kernels do not take these batches and heads, or None: they do not broadcast."""
    sizes = [list(m.shape) for m in (q, k, v)]
    if len({s[0] for s in sizes}) > 1:
        return ("For dense inputs, both fused kernels require query, key and value to have the same batch_size. Query.sizes(): "
                f"{sizes[0]}, Key.sizes(): {sizes[1]}, Value.sizes(): {sizes[2]} instead. {_BROADCAST}")
    if not enable_gqa and len({s[1] for s in sizes}) > 1:
        return ("For dense input, both fused kernels require query, key and value to have the same num_heads. Query.sizes(): "
                f"{sizes[0]}, Key sizes(): {sizes[1]}, Value sizes(): {sizes[2]} instead. {_BROADCAST}")
    if sizes[1][1] != sizes[2][1]:
        return (f"Both fused kernels require key and value to have the same num_heads and batch_size but got: Key sizes: {sizes[1]}, Value "
                f"sizes: {sizes[2]}, Query sizes: {sizes[0]} instead.")
    if not sizes[1][1] or sizes[0][1] % sizes[1][1]:
        return ("The number of heads in key/value must divide number of heads in query.Got input Key sizes(): "
                f"{sizes[1][1]}, Value sizes(): {sizes[2][1]}, Query sizes(): {sizes[0][1]} instead.") if enable_gqa else None
    return None


def _check_allowed(q, k, v, dropout_p, enable_gqa):
    """torch's error where nothing that is allowed takes the arguments, with its reasons as warnings."""
    if not allowed["flash"]:
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
                           "kernel and the fused kernels.")
    dims, sizes = (q.ndim, k.ndim, v.ndim), (q.shape[-1], k.shape[-1], v.shape[-1])
    why = None
    if dropout_p > 0:
        why = "Both fused kernels do not support non-zero dropout."
    elif P.kind_of(q.dtype) != 2:
        said = [P.cpp_name(m.dtype) for m in (q, k, v)]
        why = ("Expected query, key and value to all be of dtype: {Float, Double, BFloat16, Half}. Got "
               f"Query dtype: {said[0]}, Key dtype: {said[1]}, and Value dtype: {said[2]} instead.")
    elif dims != (4, 4, 4):
        why = ("All fused kernels requires query, key and value to be 4 dimensional, but got Query dim: "
               f"{dims[0]}, Key dim: {dims[1]}, Value dim: {dims[2]} instead.")
    elif (unequal := _unequal(q, k, v, enable_gqa)) is not None:
        why = unequal
    elif len(set(sizes)) > 1:
        why = ("Flash attention requires q,k,v to have the same last dimension. Got "
               f"Query.size(-1): {sizes[0]}, Key.size(-1): {sizes[1]}, Value.size(-1): {sizes[2]} instead.")
    if why:
        none_available(why)


def none_available(why):
    """torch's refusal where the fused kernel is the only one allowed, and does not take the arguments."""
    warn("Flash attention kernel not used because:")
    warn(why)
    raise RuntimeError("No available kernel.  Aborting execution.")


def _takes_mask(query, key, value, mask, dropout_p, enable_gqa):
    """Whether torch's fused kernel takes this mask; else it is added to a product of matrices, in place."""
    q, k, m = query._ts_meta, key._ts_meta, mask._ts_meta.shape
    if (not allowed["flash"] or dropout_p > 0 or mask.requires_grad and context.grad
            or not ops.is_flash(q, k, value._ts_meta, None, enable_gqa)):
        return False
    if len(m) < 2:
        size_at(mask._ts_meta, -2)
    return (len(m) in (2, 4) and m[-2] in (1, q.shape[-2]) and m[-1] in (1, k.shape[-2])
            and all([a in (1, b) for a, b in zip(m[:-2], q.shape[:2])]))


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """softmax(query @ key^T * scale + mask) @ value over the last two dimensions.

    attn_mask: bool (True may be seen) or added to the scores; is_causal: position i sees up to i; dropout_p is applied
    whenever it is not 0; scale: 1/sqrt(last size) by default; enable_gqa: fewer key heads than query heads.
    """
    q, k, v = query._ts_meta, key._ts_meta, value._ts_meta
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{P.cpp_name(q.dtype)} key.dtype: {P.cpp_name(k.dtype)} and value.dtype: {P.cpp_name(v.dtype)} instead.")
    if q.ndim < 2 or k.ndim < 2 or v.ndim < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                           f"{q.ndim} key.dim: {k.ndim} and value.dim: {v.ndim} instead.")
    if attn_mask is not None:
        d = attn_mask._ts_meta.dtype
        if d.name not in ("bool", "float32") and d != q.dtype:
            raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                               f"{P.cpp_name(d)} and  query.dtype: {P.cpp_name(q.dtype)} instead.")
        if not _takes_mask(query, key, value, attn_mask, dropout_p, enable_gqa):
            if is_causal:
                raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
            scores = (*q.shape[:-1], k.shape[-2])
            if len(k.shape) == len(q.shape) and not enable_gqa:
                scores = (*broadcast_shapes([q.shape[:-2], k.shape[:-2]]), *scores[-2:])
            whole = broadcast_shapes([scores, attn_mask._ts_meta.shape])
            if whole != scores and q.numel and k.numel:
                raise RuntimeError(f"output with shape {list(scores)} doesn't match the broadcast shape {list(whole)}")
    if not allowed["math"]:
        _check_allowed(q, k, v, dropout_p, enable_gqa)
    of = P.kind_of(q.dtype)
    if of != 2:
        if 0 in (*q.shape[:-1], k.shape[-2], v.shape[-1]):
            return query.new_zeros((*q.shape[:-1], v.shape[-1])) + (query.sum() + key.sum() + value.sum()) * 0
        if of == 1 and attn_mask is not None and attn_mask._ts_meta.dtype == P.bool_:          # it becomes zeros and -inf
            raise RuntimeError(f"value cannot be converted to type {_C_TYPES.get(q.dtype.name, q.dtype.name + '_t')} without overflow")
    if enable_gqa:
        size_at(q, -3)
    for a, b in (((q.shape[-2], q.shape[-1]), (k.shape[-1], k.shape[-2])), ((q.shape[-2], k.shape[-2]), v.shape[-2:])):
        if a[1] != b[0]:
            if q.ndim == 2:
                raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
            n = 1
            for size in q.shape[:-2]:
                n *= size
            raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {a[1]}] but got: [{n}, {b[0]}].")
    if enable_gqa and (q.shape[-3] % k.shape[-3] or q.shape[-3] % v.shape[-3]):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    if of < 2:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: float != {P.cpp_name(q.dtype)}" if q.ndim == 2 else
                           f"expected scalar type Float but found {P.c_name(q.dtype)}")
    if of == 3:
        raise NotImplementedError(f'"softmax_lastdim_kernel_impl" not implemented for \'{P.c_name(q.dtype)}\'')
    if not enable_gqa and not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        broadcast_shapes([broadcast_shapes([q.shape[:-2], k.shape[:-2]]), v.shape[:-2]])
    if not allowed["flash"] and q.ndim == 4 and q.dtype in (P.float16, P.bfloat16):          # torch multiplies matrices of float32 then
        mask = attn_mask if attn_mask is None or attn_mask._ts_meta.dtype.name == "bool" else attn_mask.float()
        return scaled_dot_product_attention(query.float(), key.float(), value.float(), mask, dropout_p, is_causal, scale=scale,
                                            enable_gqa=enable_gqa).to(query.dtype)
    tensors = (query, key, value)
    if attn_mask is not None:
        tensors += (attn_mask,)
    keep = p = None
    nums, kinds = [], ""
    if not dropout_p >= 0 and ops.is_flash(q, k, v, None, enable_gqa):
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    if dropout_p > 0:
        probability(dropout_p)
        lead = broadcast_shapes([q.shape[:-2], q.shape[:-2] if enable_gqa else k.shape[:-2]])
        if dropout_p < 1:
            tensors += (kept(lead + (q.shape[-2], k.shape[-2]), dropout_p, query),)
            keep, p = T, SF
            nums, kinds = [float(dropout_p)], "f"
        else:
            return scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa) * 0
    if scale is not None:
        nums, kinds = nums + [float(scale)], kinds + "f"
    return apply(ops.attention, tensors, (T, T, T, None if attn_mask is None else T, keep, p, bool(is_causal),
                                          None if scale is None else SF, bool(enable_gqa)), nums, kinds)
