"""Quantized linear layers."""
from __future__ import annotations

import numpy as np

import torchshim as torch
from torchshim.nn import functional as F

from ...tensor.quantized.base import PerTensor, dequantized, fused_scaled, is_quantized, levels, quantized
from ...tensor.quantized.factories import parameters_of
from . import declare
from .packed import Packed, checked_input, output, rescaled, wide_for


@declare("linear_prepack")
def linear_prepack(W, B=None):
    """A weight, qint8, and a bias as `linear` takes them."""
    if W.dim() != 2:
        raise RuntimeError("The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional.")
    if W.dtype is not torch.qint8:
        raise RuntimeError(f"linear_prepack expects a weight of torch.qint8, but got {W.dtype}")
    if B is not None and (B.dim() != 1 or B.shape[0] != W.shape[0]):
        raise RuntimeError(f"bias should have N elements: {W.shape[0]}")
    return Packed(W.contiguous(), None if B is None else B.contiguous())


@declare("linear_prepack_fp16")
def linear_prepack_fp16(W, B=None):
    """A weight and a bias as `linear_dynamic_fp16` takes them: in float16, what exceeds that cut off."""
    most = torch.finfo(torch.float16).max
    return Packed(W.detach().clamp(-most, most).half(), B)


@declare("linear_unpack")
def linear_unpack(packed):
    return packed.unpack()


@declare("linear_unpack_fp16")
def linear_unpack_fp16(packed):
    return packed._weight.float(), packed._bias


def _sums(x, packed):
    """Sums of products of shifted levels; x: float32 levels minus their zero point."""
    n, k = packed._weight.shape
    if x.shape[-1] != k:
        raise RuntimeError(f"The number of columns in the input tensor ({x.shape[-1]}) does not match that of the weight ({k})")
    wide = wide_for(k)
    return torch.matmul(x.to(wide), packed.levels(wide).t()).float()


def _linear(x, packed, scale, zero_point, relu):
    q = checked_input(x, "quantized::linear")
    with torch.no_grad():
        return rescaled(_sums(x._ints.float() - q.zero_point, packed), x, packed, output(scale, zero_point), relu)


@declare("linear")
def linear(X, W_prepack, Y_scale_i, Y_zero_point_i):
    """X @ W.T + b as levels of the scale and zero point that are given."""
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i, False)


@declare("linear_relu")
def linear_relu(X, W_prepack, Y_scale_i, Y_zero_point_i):
    return _linear(X, W_prepack, Y_scale_i, Y_zero_point_i, True)


@declare("linear_leaky_relu")
def linear_leaky_relu(X, W_prepack, Y_scale_i, Y_zero_point_i, negative_slope):
    x = F.linear(dequantized(X), dequantized(W_prepack._weight), W_prepack._bias)
    return quantized(F.leaky_relu(x, negative_slope), output(Y_scale_i, Y_zero_point_i), X.dtype)


@declare("linear_tanh")
def linear_tanh(X, W_prepack, Y_scale_i, Y_zero_point_i):
    x = F.linear(dequantized(X), dequantized(W_prepack._weight), W_prepack._bias)
    return quantized(torch.tanh(x), output(Y_scale_i, Y_zero_point_i), X.dtype)


def dynamic(x, packed, reduce_range=False, relu=False):
    """x @ W.T + b of float32 numbers: x is rounded to levels that its range decides."""
    if is_quantized(x) or x.dtype is not torch.float32:
        raise RuntimeError("linear_dynamic: expected a float32 tensor")
    with torch.no_grad():
        x = x.detach()
        q = parameters_of(x, torch.quint8, reduce_range)
        sums = _sums(levels(x, PerTensor(q.scale, q.zero_point), torch.quint8).float() - q.zero_point, packed)
        out = fused_scaled(sums, packed.scales() * float(np.float32(q.scale)), packed._bias)
        return out.relu() if relu else out


@declare("linear_dynamic")
def linear_dynamic(X, W_prepack, reduce_range=False):
    return dynamic(X, W_prepack, reduce_range)


@declare("linear_relu_dynamic")
def linear_relu_dynamic(X, W_prepack, reduce_range=False):
    return dynamic(X, W_prepack, reduce_range, True)


@declare("linear_dynamic_fp16")
def linear_dynamic_fp16(X, W_prepack):
    """X @ W.T + b with a weight that was rounded to float16."""
    with torch.no_grad():
        out = F.linear(X.detach(), W_prepack._weight.float())
    return out if W_prepack._bias is None else out + W_prepack._bias


@declare("linear_relu_dynamic_fp16")
def linear_relu_dynamic_fp16(X, W_prepack):
    return linear_dynamic_fp16(X, W_prepack).relu()


@declare("wrapped_quantized_linear", namespace="_quantized")
def wrapped_quantized_linear(input, input_scale, input_zero_point, weight, weight_scale, weight_zero_point, bias, out_scale, out_zero_point,
                             out_channel):
    """Numbers rounded, multiplied as levels, and numbers again."""
    x = torch.quantize_per_tensor(input, input_scale, input_zero_point, torch.quint8)
    w = torch.quantize_per_tensor(weight, weight_scale, weight_zero_point, torch.qint8)
    return linear(x, linear_prepack(w, bias), out_scale, out_zero_point).dequantize()


