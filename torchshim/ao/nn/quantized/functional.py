"""torch.ao.nn.quantized.functional: functions of quantized tensors. ValueError for tensors that are not."""
from __future__ import annotations

import torchshim as torch
from torchshim.nn import functional as F

from ....dropin import missing_attribute as _missing_attribute


def _quantized(name, x):
    if not x.is_quantized:
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")


def _passed_on(name):
    of = getattr(F, name)

    def f(input, *args, **kwargs):
        _quantized(name, input)
        return of(input, *args, **kwargs)
    f.__doc__ = f"F.{name} of a quantized tensor."
    f.__name__ = f.__qualname__ = name
    return f


avg_pool2d, avg_pool3d, adaptive_avg_pool2d, adaptive_avg_pool3d, interpolate, threshold = map(
    _passed_on, ("avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "interpolate", "threshold"))


def _convolution(d):
    def conv(input, weight, bias, stride=1, padding=0, dilation=1, groups=1, padding_mode="zeros", scale=1.0, zero_point=0,
             dtype=torch.quint8):
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        if input.dtype is not torch.quint8:
            raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
        if weight.dtype is not torch.qint8:
            raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
        if input.ndim != d + 2:
            raise ValueError(f"Input shape must be `(N, C, {', '.join('DHW'[3 - d:]) if d > 1 else 'L'})`!")
        sizes = [n if isinstance(n, (tuple, list)) else (n,) * d for n in (stride, padding, dilation)]
        packed = getattr(torch.ops.quantized, f"conv{d}d_prepack")(weight, bias, *sizes, groups)
        return getattr(torch.ops.quantized, f"conv{d}d")(input, packed, scale, zero_point)
    conv.__doc__ = (f"F.conv{d}d of a quantized tensor; results have the given scale and zero point. NotImplementedError for other dtypes "
                    "and paddings.")
    conv.__name__ = conv.__qualname__ = f"conv{d}d"
    return conv


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def linear(input, weight, bias=None, scale=None, zero_point=None):
    """F.linear of quantized tensors; by default with the input's scale and zero point."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return torch.ops.quantized.linear(input, torch.ops.quantized.linear_prepack(weight, bias), scale, zero_point)


def _pooling(name):
    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            raise NotImplementedError("return_indices is not yet implemented!")
        return getattr(F, name)(input, kernel_size, stride or None, padding, dilation, ceil_mode=ceil_mode, return_indices=False)
    pool.__doc__ = f"F.{name} of a quantized tensor. NotImplementedError for return_indices."
    pool.__name__ = pool.__qualname__ = name
    return pool


max_pool1d, max_pool2d = map(_pooling, ("max_pool1d", "max_pool2d"))


def celu(input, scale, zero_point, alpha=1.0):
    """F.celu with results of the given scale and zero point."""
    _quantized("celu", input)
    return torch.ops.quantized.celu(input, scale, zero_point, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False, scale=None, zero_point=None):
    """F.leaky_relu, with results of the given scale and zero point, or those of the input."""
    if scale is not None and zero_point is not None:
        if inplace:
            raise AssertionError("Cannot rescale with `inplace`")
        return torch.ops.quantized.leaky_relu(input, negative_slope, False, scale, zero_point)
    return F.leaky_relu(input, negative_slope, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """F.hardtanh of a quantized tensor."""
    _quantized("hardtanh", input)
    return F.hardtanh(input, min_val, max_val, inplace)


def hardswish(input, scale, zero_point):
    """F.hardswish with results of the given scale and zero point."""
    _quantized("hardswish", input)
    return torch.ops.quantized.hardswish(input, scale, zero_point)


def elu(input, scale, zero_point, alpha=1.0):
    """F.elu with results of the given scale and zero point."""
    _quantized("elu", input)
    return torch.ops.quantized.elu(input, scale, zero_point, alpha)


def hardsigmoid(input, inplace=False):
    """F.hardsigmoid of a quantized tensor."""
    _quantized("hardsigmoid", input)
    return F.hardsigmoid(input, inplace)


def clamp(input, min_, max_):
    """torch.clamp of a quantized tensor."""
    _quantized("clamp", input)
    return torch.clamp(input, min_, max_)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate by its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate between corners."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate to the nearest."""
    return interpolate(input, size, scale_factor, mode="nearest")


__all__ = ["avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "conv1d", "conv2d", "conv3d", "interpolate", "linear",
           "max_pool1d", "max_pool2d", "celu", "leaky_relu", "hardtanh", "hardswish", "threshold", "elu", "hardsigmoid", "clamp",
           "upsample", "upsample_bilinear", "upsample_nearest"]
__getattr__ = _missing_attribute(__name__)
