"""torch.nn.attention.bias: causal masks by name, for queries and keys of different numbers."""
from __future__ import annotations

import warnings
from enum import IntEnum, auto

from ... import Tensor, bool as _bool, ones
from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Whether the diagonal goes through the first element or through the last."""
    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """An `attn_mask` for scaled_dot_product_attention: query i sees the keys up to its own. seq_len_q, seq_len_kv: how many there are.

    With LOWER_RIGHT the last query sees all keys; queries that see none yield NaN, of which it warns.
    """

    def __init__(self, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)

    def _materialize(self, device=None):
        """The mask, a tensor of bool of (seq_len_q, seq_len_kv)."""
        offset = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        return ones(self.seq_len_q, self.seq_len_kv, dtype=_bool, device=device).tril(diagonal=offset)

    @staticmethod
    def _dispatch(query, key, value, attn_mask, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        plain = attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant == CausalVariant.UPPER_LEFT
        return F.scaled_dot_product_attention(query, key, value, attn_mask=None if plain else attn_mask._materialize(query.device),
                                              dropout_p=dropout_p, is_causal=plain, scale=scale, enable_gqa=enable_gqa)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self):
        return repr(self._materialize())


def causal_upper_left(*size):
    """The mask whose diagonal begins at the first query and key. size: the numbers of queries and keys."""
    assert len(size) == 2, "causal_upper_left only supports 2D tensors"
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size):
    """The mask whose diagonal ends at the last query and key. size: the numbers of queries and keys."""
    assert len(size) == 2, "causal_lower_right only supports 2D tensors"
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
