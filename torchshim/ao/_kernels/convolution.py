"""Quantized convolutions."""
from __future__ import annotations

import torchshim as torch
from torchshim.nn import functional as F

from ...tensor.quantized.base import PerTensor, dequantized, fused_scaled, is_quantized, levels, quantized
from ...tensor.quantized.factories import parameters_of
from . import declare
from .packed import Packed, checked_input, output, rescaled, rescaled_at_once, symmetric, wide_for


class PackedConv(Packed):
    """A convolution's weight, bias and sizes."""

    def stride(self):
        return self._stride

    def padding(self):
        return self._padding

    def output_padding(self):
        return self._output_padding

    def dilation(self):
        return self._dilation

    def groups(self):
        return self._groups

    def transpose(self):
        return self._transpose


def _packed(weight, bias, stride, padding, output_padding, dilation, groups, transposed, d):
    if weight.dim() != d + 2:
        raise RuntimeError(f"Weights are expected to have {d + 2} dimensions")
    if weight.dtype is not torch.qint8:
        raise RuntimeError(f"conv prepack expects a weight of torch.qint8, but got {weight.dtype}")
    sizes = [tuple([int(n) for n in s]) for s in (stride, padding, output_padding, dilation)]
    return PackedConv(weight, bias, _stride=sizes[0], _padding=sizes[1], _output_padding=sizes[2],
                      _dilation=sizes[3], _groups=int(groups), _transpose=transposed)


def _sums(x, packed, d):
    """Sums of products of shifted levels; x: float32 levels minus their zero point."""
    weight = packed._weight
    count = weight[0].numel() if not packed._transpose else weight.numel() // weight.shape[1]
    wide = wide_for(count)
    x, w = x.to(wide), packed.levels(wide)
    if packed._transpose:
        f = getattr(F, f"conv_transpose{d}d")
        return f(x, w, None, packed._stride, packed._padding, packed._output_padding, packed._groups, packed._dilation)
    return getattr(F, f"conv{d}d")(x, w, None, packed._stride, packed._padding, packed._dilation, packed._groups)


def _channels(d):
    return (-1,) + (1,) * d


def _at_once(packed):
    """Whether oneDNN computes it, with its order of roundings."""
    engine = torch.backends.quantized.engine
    if engine == "onednn":
        return True
    return engine == "x86" and packed._groups <= 100 and symmetric(packed._weight) and not any(packed._output_padding)


def _conv(x, packed, scale, zero_point, relu, d, added=None):
    q = checked_input(x, f"quantized::conv{d}d", (torch.quint8, torch.qint8))
    if x.dim() not in (d + 1, d + 2):
        raise RuntimeError(f"Expected activations to have {d + 2} dimensions, got {x.dim()}")
    with torch.no_grad():
        sums = _sums(x._ints.float() - q.zero_point, packed, d)
        out = output(scale, zero_point)
        if added is not None:
            one = _real(sums, x, packed, d) + dequantized(added)
            return quantized(one.relu() if relu else one, out, x.dtype)
        return (rescaled_at_once if _at_once(packed) else rescaled)(sums, x, packed, out, relu, _channels(d))


def _real(sums, x, packed, d):
    both = packed.scales() * float(x._q.scale)
    both = both if both.dim() == 0 else both.reshape(_channels(d))
    numbers = sums.float() * both
    return numbers if packed._bias is None else numbers + packed._bias.reshape(_channels(d))


def _dynamic(x, packed, reduce_range, d):
    if is_quantized(x):
        raise RuntimeError("conv_dynamic: expected a float32 tensor")
    with torch.no_grad():
        x = x.detach()
        q = parameters_of(x, torch.quint8, reduce_range)
        quantized_x = levels(x, PerTensor(q.scale, q.zero_point), torch.quint8)
        sums = _sums(quantized_x.float() - q.zero_point, packed, d).float()
        both = packed.scales() * float(q.scale)
        both = both if both.dim() == 0 else both.reshape(_channels(d))
        return fused_scaled(sums, both, None if packed._bias is None else packed._bias.reshape(_channels(d)))


def _declare(d):
    zeros = (0,) * d

    @declare(f"conv{d}d_prepack")
    def prepack(weight, bias, stride, padding, dilation, groups):
        return _packed(weight, bias, stride, padding, zeros, dilation, groups, False, d)

    @declare(f"conv_transpose{d}d_prepack")
    def transposed_prepack(weight, bias, stride, padding, output_padding, dilation, groups):
        return _packed(weight, bias, stride, padding, output_padding, dilation, groups, True, d)

    for name in ("conv", "conv_transpose"):
        declare(f"{name}{d}d_unpack")(lambda packed_weights: packed_weights.unpack())
        for part in ("stride", "padding", "output_padding", "dilation", "groups", "transpose"):
            declare(f"{name}{d}d_{part}")(lambda packed_weights, _part=part: getattr(packed_weights, _part)())

    @declare(f"conv{d}d.new", f"conv{d}d", f"conv_transpose{d}d")
    def conv(qx, packed_weight, output_scale, output_zero_point):
        return _conv(qx, packed_weight, output_scale, output_zero_point, False, d)

    @declare(f"conv{d}d_relu")
    def conv_relu(qx, packed_weight, output_scale, output_zero_point):
        return _conv(qx, packed_weight, output_scale, output_zero_point, True, d)

    @declare(f"conv{d}d_dynamic", f"conv_transpose{d}d_dynamic")
    def conv_dynamic(qx, packed_weight, reduce_range=False):
        return _dynamic(qx, packed_weight, reduce_range, d)


for _d in (1, 2, 3):
    _declare(_d)


@declare("conv2d_add")
def conv2d_add(qx, qaccum, packed_weight, output_scale, output_zero_point):
    """A convolution plus a quantized tensor."""
    return _conv(qx, packed_weight, output_scale, output_zero_point, False, 2, qaccum)


@declare("conv2d_add_relu")
def conv2d_add_relu(qx, qaccum, packed_weight, output_scale, output_zero_point):
    return _conv(qx, packed_weight, output_scale, output_zero_point, True, 2, qaccum)
