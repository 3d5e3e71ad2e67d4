"""Transformer, its encoder and decoder and their layers."""
from __future__ import annotations

import copy
import math
import warnings

from ... import backends
from ...tensor.api.bind import FUNCTIONS
from .. import functional as F, init
from ._fast_path import why_not
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """A mask (sz, sz) that hides what comes later."""
    return FUNCTIONS["triu"](FUNCTIONS["full"]((sz, sz), -math.inf, dtype=dtype, device=device), diagonal=1)


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """`is_causal`, and where that is None, whether the mask hides what comes later and nothing else. Looks at the values."""
    if is_causal is None and mask is not None:
        expected = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
        return mask.size() == expected.size() and bool((mask == expected).all())
    return is_causal is True


def _is_causal(mask, is_causal, x, layer):
    """The same for a stack of layers that gets `x`. A mask is looked at where attention would refuse its dtype."""
    odd = is_causal is None and mask is not None and mask.is_floating_point() and mask.dtype is not x.dtype and not x.is_nested
    if not odd:                                # elsewhere what it computes is the same
        return bool(is_causal)
    return _detect_is_causal_mask(mask, is_causal, x.size(1 if x.dim() > 2 and layer.self_attn.batch_first else 0))


def _get_clones(module, n):
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _get_activation_fn(activation):
    if activation in ("relu", "gelu"):
        return getattr(F, activation)
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _Layer(Module):
    """What encoder and decoder layers share: the feed-forward block and how blocks are called."""

    __constants__ = ["norm_first"]

    def _feed_forward(self, d_model, dim_feedforward, dropout, bias, where):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)

    def _attended(self, attention, x, memory, attn_mask, key_padding_mask, is_causal):
        return attention(x, memory, memory, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
                         is_causal=is_causal)[0]

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self._attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _fed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a LayerNorm (before it with norm_first).

    activation: "relu", "gelu" or a function; batch_first: (N, L, E) instead of (L, N, E).
    """

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        self._feed_forward(d_model, dim_feedforward, dropout, bias, where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = 1 if activation is F.relu or isinstance(activation, ReLU) else \
            2 if activation is F.gelu or isinstance(activation, GELU) else 0
        self.activation = activation

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(src_mask), "src_mask",
                                                 src.dtype)
        src_mask = F._canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        if self._is_fast(src, src_mask is None and src_key_padding_mask is None):
            import torchshim as torch
            attention = self.self_attn
            return torch._transformer_encoder_layer_fwd(
                src, attention.embed_dim, attention.num_heads, *self._parameters_of(attention), self.activation_relu_or_gelu == 2,
                self.norm_first, self.norm1.eps, *self._parameters_of(), *attention.merge_masks(src_mask, src_key_padding_mask, src))
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _parameters_of(self, attention=None):
        """Weight after weight with its bias, as torch's fast path takes them: those of the attention, or of the rest."""
        if attention is not None:
            return attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias
        return [p for m in (self.norm1, self.norm2, self.linear1, self.linear2) for p in (m.weight, m.bias)]

    def _is_fast(self, src, unmasked):
        """Whether torch takes its fast path: all of the layer is one operator."""
        attention = self.self_attn
        if self.training or src.dim() != 3 or not backends.mha.get_fastpath_enabled() or src.is_nested and not unmasked:
            return False
        if not (attention.batch_first and attention.in_proj_bias is not None and attention._qkv_same_embed_dim
                and self.activation_relu_or_gelu and self.norm1.eps == self.norm2.eps and attention.num_heads % 2 == 0):
            return False
        if any([m._forward_hooks or m._forward_pre_hooks for m in self.modules()]):
            return False
        return not why_not((src, *self._parameters_of(attention), *self._parameters_of()))

    def _ff_block(self, x):
        return self.dropout2(self._fed_forward(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's memory and a feed-forward network; see TransformerEncoderLayer."""

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        self._feed_forward(d_model, dim_feedforward, dropout, bias, where)
        self.norm_first = norm_first
        for k in (1, 2, 3):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for k in (1, 2, 3):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state):
        state.setdefault("activation", F.relu)
        super().__setstate__(state)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        x, own, across = tgt, (tgt_mask, tgt_key_padding_mask, tgt_is_causal), (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *across)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *across))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self._attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        return self.dropout3(self._fed_forward(x))


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer, and a norm at the end.

    In evaluation without gradients, padding after each sequence gives zeros, as torch's nested tensors do (enable_nested_tensor;
    mask_check: look whether the padding is at the end). A causal mask is searched for only where its dtype is not the input's:
    elsewhere `is_causal=None` counts as False, which computes the same.
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        why_not = _no_nesting(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not why_not
        if enable_nested_tensor and why_not:
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}", stacklevel=2)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        src_key_padding_mask = F._canonical_mask(src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(mask), "mask", src.dtype)
        mask = F._canonical_mask(mask, "mask", None, "", src.dtype, False)
        output, nested = src, mask is None and src_key_padding_mask is not None and self._nests(src, src_key_padding_mask)
        if nested:
            import torchshim as torch
            output = torch._nested_tensor_from_mask(output, src_key_padding_mask.logical_not(), mask_check=False)
            src_key_padding_mask = None
        is_causal = _is_causal(mask, is_causal, src, self.layers[0])
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=src_key_padding_mask)
        if nested:
            output = output.to_padded_tensor(0.0, src.size())
        return output if self.norm is None else self.norm(output)

    def _nests(self, src, padding):
        """Whether torch would go over nested tensors, which leave zeros where the padding was."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or src.is_nested or not backends.mha.get_fastpath_enabled():
            return False
        if why_not((src, *first._parameters_of(first.self_attn), *first._parameters_of())):
            return False
        hidden = padding != 0
        return not self.mask_check or not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())


def _no_nesting(layer):
    """Why torch would not use nested tensors for an encoder of this layer; None if it would."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return f"{name}.norm_first was True"
    if not attention.batch_first:
        return f"{name}.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if not attention._qkv_same_embed_dim:
        return f"{name}.self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return f"{name}.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return f"{name}.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return f"{name}.norm1.eps was not equal to {name}.norm2.eps"
    if attention.num_heads % 2 == 1:
        return f"{name}.self_attn.num_heads is odd"
    return None


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer, and a norm at the end."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        output, tgt_is_causal = tgt, _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0])
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                           memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                           memory_is_causal=memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder as in "Attention Is All You Need" (https://arxiv.org/abs/1706.03762)."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        where = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def stacked(layer, stack, count):
            made = layer(*options, **where)
            return stack(made, count, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        self.encoder = custom_encoder if custom_encoder is not None else stacked(
            TransformerEncoderLayer, TransformerEncoder, num_encoder_layers)
        self.decoder = custom_decoder if custom_decoder is not None else stacked(
            TransformerDecoderLayer, TransformerDecoder, num_decoder_layers)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        at = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(at) != tgt.size(at):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    generate_square_subsequent_mask = staticmethod(_generate_square_subsequent_mask)

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
