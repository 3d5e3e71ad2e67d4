"""torch.ops.quantized_decomposed: rounding to integers and back with plain tensors, as exported graphs write it."""
from __future__ import annotations

import torchshim as torch

from ...tensor.quantized.base import number
from . import declare


def _declare(name):
    return declare(name, namespace="quantized_decomposed")


@_declare("quantize_per_tensor")
def quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype):
    """round(input / scale) + zero_point, cut off, as `dtype`."""
    inverse = 1.0 / number(scale)
    x = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    return torch.clamp(torch.round(x * inverse) + number(zero_point), quant_min, quant_max).to(dtype)


@_declare("dequantize_per_tensor")
def dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype, *, out_dtype=None):
    """(input - zero_point) * scale."""
    return (input.to(out_dtype or torch.float32) - number(zero_point)) * number(scale)


@_declare("choose_qparams")
def choose_qparams(input, qmin, qmax, eps, dtype):
    """(scale, zero point) that hold all numbers of a tensor."""
    from ..quantization.utils import determine_qparams
    low, high = torch.aminmax(input)
    return determine_qparams(low, high, qmin, qmax, dtype, torch.Tensor([eps]), has_customized_qrange=False)


@_declare("quantize_per_channel")
def quantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype):
    """The same with a scale and a zero point for each index along an axis."""
    shape = [-1 if d == axis % input.dim() else 1 for d in range(input.dim())]
    levels = torch.round(input * (1.0 / scales).reshape(shape)) + zero_points.reshape(shape)
    return torch.clamp(levels, quant_min, quant_max).to(dtype)


@_declare("dequantize_per_channel")
def dequantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype, *, out_dtype=None):
    """(input - zero point) * scale along an axis."""
    shape = [-1 if d == axis % input.dim() else 1 for d in range(input.dim())]
    shifted = input.to(torch.float32) if zero_points is None else input.to(torch.float32) - zero_points.reshape(shape)
    return (shifted * scales.reshape(shape)).to(out_dtype or torch.float32)


