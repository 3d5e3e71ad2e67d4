"""Embeddings in training with rounding."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F

from .linear import checked


def _rounding(self, qconfig, device, dtype):
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    scheme = qconfig.weight().qscheme
    if scheme is not torch.per_channel_affine_float_qparams:
        raise AssertionError(f"{'Embedding' if isinstance(self, nn.Embedding) else 'Embedding Bag'} weights requires a qscheme of "
                             f"torch.per_channel_affine_float_qparams Got {scheme}")
    self.qconfig = qconfig
    self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})


class Embedding(nn.Embedding):
    """nn.Embedding with rounded rows."""
    _FLOAT_MODULE = nn.Embedding

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, device=None, dtype=None, qconfig=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
                         device=device, dtype=dtype)
        _rounding(self, qconfig, device, dtype)

    def forward(self, input):
        return F.embedding(input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From an embedding with a configuration, whose rows it shares."""
        checked(cls, mod, " qat")
        return cls(mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.sparse,
                   mod.weight, qconfig=mod.qconfig)

    def to_float(self):
        """nn.Embedding with its rows."""
        made = nn.Embedding(self.num_embeddings, self.embedding_dim, self.padding_idx, self.max_norm, self.norm_type,
                            self.scale_grad_by_freq, self.sparse, None)
        made.weight = nn.Parameter(self.weight.detach())
        made.train(self.training)
        return made


class EmbeddingBag(nn.EmbeddingBag):
    """nn.EmbeddingBag with rounded rows."""
    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, qconfig=None, device=None, dtype=None):
        super().__init__(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _weight, include_last_offset,
                         padding_idx, device=device, dtype=dtype)
        _rounding(self, qconfig, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
                               self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From an embedding with a configuration, whose rows it shares."""
        checked(cls, mod, " qat")
        return cls(mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode,
                   mod.sparse, mod.weight, mod.include_last_offset, mod.padding_idx, qconfig=mod.qconfig)

    def to_float(self):
        """nn.EmbeddingBag with its rows."""
        made = nn.EmbeddingBag(self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, None, self.include_last_offset, self.padding_idx)
        made.weight = nn.Parameter(self.weight.detach())
        made.train(self.training)
        return made


__all__ = ["Embedding", "EmbeddingBag"]
