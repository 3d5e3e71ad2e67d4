"""nn.MultiheadAttention on nested tensors."""
from __future__ import annotations

from .. import arange, backends, is_grad_enabled, strided, tensor
from . import as_nested_tensor


def self_attention(module, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights):
    """Attention within each component, where torch's fast path knows nested tensors: of one with itself, in evaluation, without gradients.
    AssertionError elsewhere."""
    for why, holds in (
            ("torch.backends.mha.get_fastpath_enabled() was not True", not backends.mha.get_fastpath_enabled()),
            ("non-self attention was used (query, key, and value are not the same Tensor)", query is not key or key is not value),
            ("in_proj_weight was None", module.in_proj_weight is None),
            ("training is enabled", module.training),
            ("self.num_heads is not even", module.num_heads % 2 != 0),
            ("batch_first was not True", not module.batch_first),
            ("self.bias_k was not None", module.bias_k is not None),
            ("add_zero_attn was enabled", module.add_zero_attn),
            ("supplying both src_key_padding_mask and src_mask at the same time is not supported with NestedTensor input",
             key_padding_mask is not None or attn_mask is not None),
            ("some Tensor argument has_torch_function", query.layout is not strided),
            ("grad is enabled and at least one of query or the input/output projection weights or biases requires_grad", is_grad_enabled()
             and any([x is not None and x.requires_grad for x in (query, module.in_proj_weight, module.in_proj_bias, module.out_proj.weight,
                                                                  module.out_proj.bias)]))):
        if holds:
            raise AssertionError(f"MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit because {why}")
    padded, lengths = query.to_padded_tensor(0.0), [len(x) for x in query.unbind()]
    absent = arange(padded.shape[1], device=query.device) >= tensor(lengths, device=query.device)[:, None]
    y, weights = module(padded, padded, padded, absent, need_weights, None, average_attn_weights)
    if weights is not None:
        weights = weights.masked_fill(absent[:, None, :, None] if weights.dim() == 4 else absent[:, :, None], 0.0)
    return as_nested_tensor([row[:n] for row, n in zip(y, lengths)]), weights
