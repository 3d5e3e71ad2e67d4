"""Embeddings with rounded rows."""
from __future__ import annotations

from torchshim import nn
from torchshim.nn import functional as F

from .utils import ReferenceQuantizedModule


class Embedding(nn.Embedding, ReferenceQuantizedModule):
    """nn.Embedding with rounded rows."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, device=None, dtype=None, weight_qparams=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
                         device=device, dtype=dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self):
        return "QuantizedEmbedding(Reference)"

    def forward(self, input):
        return F.embedding(input, self.get_weight(), self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    @classmethod
    def from_float(cls, mod, weight_qparams):
        """From an embedding and what its rows are rounded by."""
        return cls(mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq,
                   mod.sparse, mod.weight, mod.weight.device, mod.weight.dtype, weight_qparams)


class EmbeddingBag(nn.EmbeddingBag, ReferenceQuantizedModule):
    """nn.EmbeddingBag with rounded rows."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None, weight_qparams=None):
        super().__init__(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight, include_last_offset,
                         padding_idx, device=device, dtype=dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self):
        return "QuantizedEmbedding(Reference)"

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.get_weight(), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    @classmethod
    def from_float(cls, mod, weight_qparams, use_precomputed_fake_quant=False):
        """From an embedding and what its rows are rounded by."""
        return cls(mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode,
                   mod.sparse, mod.weight, mod.include_last_offset, mod.padding_idx, mod.weight.device, mod.weight.dtype, weight_qparams)


__all__ = ["Embedding", "EmbeddingBag"]
