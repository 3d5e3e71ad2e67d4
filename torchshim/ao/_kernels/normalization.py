"""Normalisations of quantized tensors."""
from __future__ import annotations

import numpy as np

import torchshim as torch
from torchshim.nn import functional as F

from ...tensor.quantized.base import LEVELS, dequantized, made, per_tensor, quantized
from . import declare
from .packed import output


def _batch_norm(qx, weight, bias, mean, var, eps, output_scale, output_zero_point, relu):
    """With running means: one product and one sum for each channel, of levels."""
    q, out = per_tensor(qx), output(output_scale, output_zero_point)
    held, least, most = LEVELS[qx.dtype]
    inverse = 1 / torch.sqrt(var + float(np.float32(eps)))
    weight = torch.ones_like(mean) if weight is None else weight.detach()
    bias = torch.zeros_like(mean) if bias is None else bias.detach()
    alpha = inverse * weight * float(np.float32(q.scale)) / float(np.float32(out.scale))
    beta = (bias - mean * inverse * weight) / float(np.float32(out.scale))
    shape = [-1 if d == 1 else 1 for d in range(qx.dim())]
    levels = (qx._ints.float() - q.zero_point) * alpha.reshape(shape) + beta.reshape(shape)
    levels = (levels + out.zero_point).round().clamp(out.zero_point if relu else least, most)
    return made(levels.to(held), out, qx.dtype)


def _declare(name, relu):
    @declare(name)
    def batch_norm(qx, weight, bias, mean, var, eps, output_scale, output_zero_point):
        return _batch_norm(qx, weight, bias, mean, var, eps, output_scale, output_zero_point, relu)


for _d in ("", "1d", "2d", "3d"):
    _declare(f"batch_norm{_d}", False)
    _declare(f"batch_norm{_d}_relu", True)


def _normalised(qx, f, output_scale, output_zero_point):
    return quantized(f(dequantized(qx)), output(output_scale, output_zero_point), qx.dtype, "apart")


@declare("layer_norm")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, output_scale=1., output_zero_point=0):
    return _normalised(input, lambda x: F.layer_norm(x, normalized_shape, weight, bias, eps).detach(), output_scale, output_zero_point)


@declare("group_norm")
def group_norm(qx, num_groups, weight=None, bias=None, eps=1e-05, output_scale=1., output_zero_point=0):
    return _normalised(qx, lambda x: F.group_norm(x, num_groups, weight, bias, eps).detach(), output_scale, output_zero_point)


@declare("instance_norm")
def instance_norm(input, weight=None, bias=None, eps=1e-05, output_scale=1., output_zero_point=0):
    return _normalised(input, lambda x: F.instance_norm(x, None, None, weight, bias, True, 0.1, eps).detach(), output_scale,
                       output_zero_point)
