"""Sums, products, concatenation and activations of quantized tensors."""
from __future__ import annotations

import numpy as np

import torchshim as torch
from torchshim.nn import functional as F

from ...tensor.quantized import arithmetic as A
from ...tensor.quantized.base import LEVELS, PerTensor, dequantized, like, made, per_tensor, quantized
from . import declare
from .packed import output


def _two(name, a, b, f, scale, zero_point, relu=False):
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}: Both operands should have the same dtype")
    per_tensor(a), per_tensor(b)
    x = f(A.numbers(a), A.numbers(b))
    return A.rounded(x.relu() if relu else x, output(scale, zero_point), a.dtype)


@declare("add")
def add(qa, qb, scale, zero_point):
    return _two("Add", qa, qb, torch.add, scale, zero_point)


@declare("add_relu")
def add_relu(qa, qb, scale, zero_point):
    return _two("Add", qa, qb, torch.add, scale, zero_point, True)


def _product(qa, qb, scale, zero_point, relu):
    """Products of shifted levels, which are exact, times one scale."""
    a, b, q = per_tensor(qa), per_tensor(qb), output(scale, zero_point)
    held, least, most = LEVELS[qa.dtype]
    both = np.float32(a.scale) * np.float32(b.scale) * (np.float32(1) / np.float32(q.scale))
    levels = (qa._ints.float() - a.zero_point) * (qb._ints.float() - b.zero_point)
    out = ((levels * float(both)).round() + q.zero_point).clamp(q.zero_point if relu else least, most)
    return made(out.to(held), q, qa.dtype)


@declare("mul")
def mul(qa, qb, scale, zero_point):
    return _product(qa, qb, scale, zero_point, False)


@declare("mul_relu")
def mul_relu(qa, qb, scale, zero_point):
    return _product(qa, qb, scale, zero_point, True)


def _plus_number(s, x, relu=False):
    """A quantized tensor plus a number, with the scale that this needs."""
    q = per_tensor(s)
    _, least, most = LEVELS[s.dtype]
    c, scale, z = int(np.rint(x / q.scale)), q.scale, q.zero_point
    if z - c < least:
        scale = (most - (z - c)) / (most - least) * q.scale
        new = PerTensor(scale, least)
    elif z - c > most:
        new = PerTensor(((z - c) - least) / (most - least) * q.scale, most)
    else:
        new = PerTensor(q.scale, z - c)
        out = like(s, s._ints.clone(), new)
        return A.relu(out) if relu else out
    held = LEVELS[s.dtype].held
    factor = float(np.float32(q.scale / new.scale))
    shifted = s._ints.to(torch.int32) - z + c
    levels = (shifted.float() * factor).round() + new.zero_point
    out = like(s, levels.clamp(least, most).to(held), new)
    return A.relu(out) if relu else out


@declare("add_scalar")
def add_scalar(qa, b):
    return _plus_number(qa, float(b))


@declare("add_scalar_relu")
def add_scalar_relu(qa, b):
    return _plus_number(qa, float(b), True)


@declare("mul_scalar")
def mul_scalar(qa, b):
    return A.scaled(qa, float(b))


@declare("mul_scalar_relu")
def mul_scalar_relu(qa, b):
    return A.relu(A.scaled(qa, float(b)))


@declare("cat")
def cat(qx, dim, scale=None, zero_point=None):
    first = per_tensor(qx[0])
    return A.joined(qx, dim, first if scale is None else output(scale, zero_point))


@declare("cat_relu")
def cat_relu(qx, dim, scale=None, zero_point=None):
    first = per_tensor(qx[0])
    return A.joined(qx, dim, first if scale is None else output(scale, zero_point), True)


@declare("matmul")
def matmul(qa, qb, scale, zero_point):
    """A product of two quantized tensors, rounded to levels."""
    return quantized(torch.matmul(dequantized(qa), dequantized(qb)), output(scale, zero_point), qa.dtype)


@declare("relu6")
def relu6(qx, inplace=False):
    return F.relu6(qx, inplace)


@declare("clamp")
def clamp(qx, min=None, max=None):
    return A.clamp(qx, min, max)


@declare("threshold")
def threshold(qx, threshold, value):
    return F.threshold(qx, threshold, value)


@declare("leaky_relu")
def leaky_relu(qx, negative_slope, inplace, output_scale, output_zero_point):
    return A.leaky_relu(qx, negative_slope, output(output_scale, output_zero_point))


@declare("sigmoid")
def sigmoid(qx, output_scale, output_zero_point):
    return A.sigmoid(qx, output(output_scale, output_zero_point))


@declare("hardswish")
def hardswish(input, output_scale, output_zero_point):
    return A.computed(input, lambda x: x * (x + 3).clamp(0, 6) / 6, output(output_scale, output_zero_point))


@declare("elu")
def elu(self, output_scale, output_zero_point, alpha=1, scale=1, input_scale=1):
    return A.computed(self, lambda x: torch.where(x >= 0, x * float(scale), torch.expm1(x * float(input_scale)) * float(alpha * scale)),
                      output(output_scale, output_zero_point))


@declare("celu")
def celu(self, output_scale, output_zero_point, alpha=1):
    return elu(self, output_scale, output_zero_point, alpha, 1., 1. / alpha)


@declare("prelu")
def prelu(qx, weight, output_scale, output_zero_point):
    x, w = dequantized(qx), dequantized(weight) if weight.is_quantized else weight
    w = w.reshape([-1 if d == 1 else 1 for d in range(x.dim())]) if w.numel() > 1 else w
    return quantized(torch.where(x >= 0, x, x * w), output(output_scale, output_zero_point), qx.dtype, "apart")


@declare("softmax")
def softmax(qx, dim, output_scale, output_zero_point):
    return quantized(torch.softmax(dequantized(qx), dim), output(output_scale, output_zero_point), qx.dtype)


@declare("dropout")
def dropout(self, output_scale, output_zero_point, p=0.5, training=False):
    return self.clone()
