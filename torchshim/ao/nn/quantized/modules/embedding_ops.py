"""Quantized embeddings."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

from .utils import _hide_packed_params_repr, _quantize_weight

_KNOWN = (torch.quint8, torch.quint4x2)


def _empty(rows, columns, dtype):
    return torch._empty_per_channel_affine_quantized([rows, columns], scales=torch.ones(rows, dtype=torch.float),
                                                     zero_points=torch.zeros(rows, dtype=torch.float), axis=0, dtype=dtype)


class EmbeddingPackedParams(nn.Module):
    """The rows of an embedding as levels. NotImplementedError for other dtypes than quint8 and quint4x2."""
    _version = 1

    def __init__(self, num_embeddings, embedding_dim, dtype=torch.quint8):
        super().__init__()
        self.dtype = dtype
        if dtype not in _KNOWN:
            raise NotImplementedError(f"Unsupported dtype on quantized embedding! Supports quint8 and quint4x2. Got dtype: {dtype}")
        self.set_weight(_empty(num_embeddings, embedding_dim, dtype))

    def set_weight(self, weight):
        """Take other rows."""
        if self.dtype not in _KNOWN:
            raise NotImplementedError("Unsupported dtype for quantized embedding prepack! Supports quint8 and quint4x2.")
        self._packed_weight = torch.ops.quantized.embedding_bag_prepack(weight)

    def _weight(self):
        return torch.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"], destination[prefix + "_packed_weight"] = self.dtype, self._weight()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs)

    def __getstate__(self):
        return {**self.__dict__, "_packed_weight": self._weight()}

    def __setstate__(self, state):
        super().__setstate__({k: v for k, v in state.items() if k != "_packed_weight"})
        self.set_weight(state["_packed_weight"])

    def __repr__(self):
        return self._weight().__repr__()


class Embedding(nn.Module):
    """nn.Embedding with rows of levels."""
    _version, _float = 1, nn.Embedding

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, dtype=torch.quint8):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if _weight is None:
            _weight = _empty(num_embeddings, embedding_dim, torch.quint8)
        elif list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError(f"Shape of weight does not match num_embeddings and embedding_dim: expected "
                                 f"{[num_embeddings, embedding_dim]}, got {list(_weight.shape)}")
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        self._packed_params.set_weight(_weight)

    def forward(self, indices):
        kernel = torch.ops.quantized.embedding_4bit if self.dtype is torch.quint4x2 else torch.ops.quantized.embedding_byte
        return kernel(self._packed_params._packed_weight, indices)

    def _get_name(self):
        return f"Quantized{type(self).__name__}"

    def __repr__(self):
        return _hide_packed_params_repr(self, EmbeddingPackedParams)

    def extra_repr(self):
        return (f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self._packed_params.dtype}, "
                f"qscheme={self.weight().qscheme()}")

    def set_weight(self, w):
        """Take other rows."""
        self._packed_params.set_weight(w)

    def weight(self):
        """The rows, quantized."""
        return self._packed_params._weight()

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From an embedding with a configuration. AssertionError for others, and for configurations without floating zero points."""
        from ....quantization.qconfig import float_qparams_weight_only_qconfig
        if hasattr(mod, "weight_fake_quant"):
            watcher = mod.weight_fake_quant
        else:
            if type(mod) is not cls._float:
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {cls._float.__name__}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError(f"{cls.__name__} input float module must have qconfig defined")
            said = mod.qconfig is not None and mod.qconfig.weight is not None
            watcher = (mod.qconfig if said else float_qparams_weight_only_qconfig).weight()
        if watcher.qscheme is not torch.per_channel_affine_float_qparams:
            raise AssertionError(f"{cls.__name__} quantization is only supported with float_qparams_weight_only_qconfig.")
        if watcher.dtype not in _KNOWN:
            raise AssertionError(f"The only supported dtype for nnq.{cls.__name__} is torch.quint8 and torch.quint4x2, got {watcher.dtype}")
        watcher(mod.weight)
        made = cls._like(mod, watcher.dtype)
        made.set_weight(_quantize_weight(mod.weight.float(), watcher))
        return made

    @classmethod
    def _like(cls, mod, dtype):
        return cls(mod.num_embeddings, mod.embedding_dim)

    @classmethod
    def from_reference(cls, ref_embedding):
        """From a reference module."""
        r = ref_embedding
        return cls(r.num_embeddings, r.embedding_dim, r.padding_idx, r.max_norm, r.norm_type, r.scale_grad_by_freq, r.sparse,
                   r.get_quantized_weight(), r.weight_dtype)


class EmbeddingBag(Embedding):
    """nn.EmbeddingBag, of sums, with rows of levels."""
    _float = nn.EmbeddingBag

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="sum", sparse=False,
                 _weight=None, include_last_offset=False, dtype=torch.quint8):
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.pruned_weights, self.include_last_offset = mode, False, include_last_offset

    def forward(self, indices, offsets=None, per_sample_weights=None, compressed_indices_mapping=None):
        kernel = torch.ops.quantized.embedding_bag_4bit if self.dtype is torch.quint4x2 else torch.ops.quantized.embedding_bag_byte
        return kernel(self._packed_params._packed_weight, indices, offsets, False, 0, self.pruned_weights, per_sample_weights,
                      compressed_indices_mapping, self.include_last_offset)

    @classmethod
    def _like(cls, mod, dtype):
        return cls(mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode, mod.sparse,
                   include_last_offset=mod.include_last_offset, dtype=dtype)

    @classmethod
    def from_reference(cls, ref_embedding_bag):
        """From a reference module."""
        r = ref_embedding_bag
        return cls(r.num_embeddings, r.embedding_dim, r.max_norm, r.norm_type, r.scale_grad_by_freq, r.mode, r.sparse,
                   r.get_quantized_weight(), r.include_last_offset, r.weight_dtype)


__all__ = ["EmbeddingPackedParams", "Embedding", "EmbeddingBag"]
