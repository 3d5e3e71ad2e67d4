"""Attention made of linear layers that observers can watch."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F


class MultiheadAttention(nn.MultiheadAttention):
    """nn.MultiheadAttention with a linear layer each for queries, keys and values; the attention itself is computed with numbers."""
    _FLOAT_MODULE = nn.MultiheadAttention
    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):
        from ....quantization.stubs import DeQuantStub, QuantStub
        from ...quantized.modules.functional_modules import FloatFunctional
        super().__init__(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device=device,
                         dtype=dtype)
        options = dict(bias=bias, device=device, dtype=dtype)
        self.linear_Q, self.linear_K = nn.Linear(self.embed_dim, self.embed_dim, **options), nn.Linear(self.kdim, self.embed_dim, **options)
        self.linear_V = nn.Linear(self.vdim, self.embed_dim, **options)
        self.out_proj = nn.Linear(self.embed_dim, self.embed_dim, **options)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def _get_name(self):
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other):
        """From an nn.MultiheadAttention with a configuration, with its observers. AssertionError for others."""
        from .... import quantization
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made = cls(other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None, other.bias_k is not None,
                   other.add_zero_attn, other.kdim, other.vdim, other.batch_first)
        made.bias_k, made.bias_v, made.qconfig = other.bias_k, other.bias_v, other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        n, bias = other.embed_dim, other.in_proj_bias
        for k, name in enumerate("QKV"):
            layer, part = getattr(made, f"linear_{name}"), slice(k * n, (k + 1) * n)
            weight = other.in_proj_weight[part] if other._qkv_same_embed_dim else getattr(other, f"{name.lower()}_proj_weight")
            layer.weight = nn.Parameter(weight, weight.requires_grad)
            layer.bias = None if bias is None else nn.Parameter(bias[part], bias.requires_grad)
        made.eval()
        return quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other):
        """NotImplementedError: this is what is observed."""
        raise NotImplementedError("It looks like you are trying to prepare an MHA module. Please, see the examples on quantizable MHAs.")

    def dequantize(self):
        """nn.MultiheadAttention with the values of a quantized one."""
        (_, bias), n = self.linear_Q._weight_bias(), self.embed_dim
        made = self._FLOAT_MODULE(n, self.num_heads, self.dropout, bias is not None, self.bias_k is not None, self.add_zero_attn,
                                  self.kdim, self.vdim, self.batch_first)
        with torch.no_grad():
            for name in ("bias_k", "bias_v"):
                if getattr(self, name) is not None:
                    setattr(made, name, nn.Parameter(getattr(self, name).dequantize()))
            w, b = self.out_proj._weight_bias()
            made.out_proj.weight = nn.Parameter(w.dequantize())
            if b is not None:
                made.out_proj.bias = nn.Parameter(b)
            for k, name in enumerate("QKV"):
                w, b = getattr(self, f"linear_{name}")._weight_bias()
                if made._qkv_same_embed_dim:
                    made.in_proj_weight[k * n:(k + 1) * n] = w.dequantize()
                else:
                    setattr(made, f"{name.lower()}_proj_weight", nn.Parameter(w.dequantize()))
                if b is not None:
                    made.in_proj_bias[k * n:(k + 1) * n] = b
        return made

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        """(attention, its weights or None), as nn.MultiheadAttention. AssertionError for is_causal."""
        if attn_mask is not None and is_causal:
            raise AssertionError("Only allow causal mask or attn_mask")
        if is_causal:
            raise AssertionError("causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = [t.transpose(0, 1) for t in (query, key, value)]
        length, batch, size = query.size()
        if self.embed_dim != size:
            raise AssertionError(f"embed_dim mismatch: {self.embed_dim} != {size}")
        if key.size()[:2] != value.size()[:2]:
            raise AssertionError(f"key and value size mismatch: key.size()={key.size()}, value.size()={value.size()}")
        heads, each = self.num_heads, size // self.num_heads
        q = self.q_scaling_product.mul_scalar(self.linear_Q(query), float(each) ** -0.5)
        k, v = self.linear_K(key), self.linear_V(value)
        if attn_mask is not None and attn_mask.dim() == 2:
            attn_mask = attn_mask.unsqueeze(0)
        if attn_mask is not None and attn_mask.dim() != 3:
            raise RuntimeError(f"attn_mask's dimension {attn_mask.dim()} is not supported")
        if attn_mask is not None and attn_mask.shape[1:] != (length, key.size(0)):
            raise RuntimeError(f"The size of the {2 if attn_mask.size(0) == 1 else 3}D attn_mask is not correct.")
        if self.bias_k is not None and self.bias_v is not None:
            k, v = torch.cat([k, self.bias_k.repeat(1, batch, 1)]), torch.cat([v, self.bias_v.repeat(1, batch, 1)])
            attn_mask = attn_mask if attn_mask is None else F.pad(attn_mask, (0, 1))
            key_padding_mask = key_padding_mask if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))
        q, k, v = [t.contiguous().view(-1, batch * heads, each).transpose(0, 1) for t in (q, k, v)]
        if self.add_zero_attn:
            k, v = [torch.cat([t, _zeros_like_row(t)], dim=1) for t in (k, v)]
            attn_mask = attn_mask if attn_mask is None else F.pad(attn_mask, (0, 1))
            key_padding_mask = key_padding_mask if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))
        q, k, v = self.dequant_q(q), self.dequant_k(k), self.dequant_v(v)
        weights = torch.bmm(q, k.transpose(1, 2))
        if attn_mask is not None:
            weights = weights.masked_fill(attn_mask, float("-inf")) if attn_mask.dtype is torch.bool else weights + attn_mask
        if key_padding_mask is not None:
            weights = weights.view(batch, heads, length, -1).masked_fill(key_padding_mask.unsqueeze(1).unsqueeze(2), float("-inf"))
            weights = weights.view(batch * heads, length, -1)
        weights = F.dropout(F.softmax(weights, dim=-1), p=self.dropout, training=self.training)
        out = torch.bmm(weights, v)
        if self.batch_first:
            out = out.view(batch, length, size)
        else:
            out = out.transpose(0, 1).contiguous().view(length, batch, size)
        out = self.out_proj(self.quant_attn_output(out))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return out, None
        weights = weights.view(batch, heads, length, -1)
        return out, weights.mean(dim=1) if average_attn_weights else weights


def _zeros_like_row(t):
    zeros = torch.zeros((t.size(0), 1) + t.size()[2:])
    return torch.quantize_per_tensor(zeros, t.q_scale(), t.q_zero_point(), t.dtype) if t.is_quantized else zeros


__all__ = ["MultiheadAttention"]
