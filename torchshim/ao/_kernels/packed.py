"""Weights as quantized operators take them, and exact sums of products of levels."""
from __future__ import annotations

import numpy as np

import torchshim as torch

from ...tensor.quantized import base
from ...tensor.quantized.base import LEVELS, PerTensor, is_quantized, per_tensor, requantized
from ...tensor.quantized.pooling import shifted


class Packed:
    """A quantized weight with its bias (None: none), and what else an operator keeps of a layer."""

    def __init__(self, weight, bias, **rest):
        self._weight, self._bias = weight, bias
        self.__dict__.update(rest)

    def unpack(self):
        """(weight, bias)."""
        return self._weight, self._bias

    def weight(self):
        """The weight."""
        return self._weight

    def bias(self):
        """The bias, or None."""
        return self._bias

    _weight_bias = unpack

    def __deepcopy__(self, memo):
        return self                            # nothing writes to it

    def _kept(self, name, make):
        found = self.__dict__.get(name)
        if found is None:
            found = self.__dict__[name] = make()
        return found

    def levels(self, wide):
        """The weight's levels minus its zero points, as float64 if `wide`, else float32."""
        def make():
            w = self._weight
            if isinstance(w._q, PerTensor):
                return shifted(w).to(wide)
            shape = [-1 if d == w._q.axis else 1 for d in range(w.dim())]
            return w._ints.to(wide) - w._q.zero_points.to(wide).reshape(shape)
        return self._kept(f"_levels_{wide}", make)

    def scales(self):
        """The weight's scale, a 0-d float32 tensor, or scales."""
        def make():
            q = self._weight._q
            return torch.tensor(np.float32(q.scale)) if isinstance(q, PerTensor) else q.scales.float()
        return self._kept("_scales", make)


def checked_input(x, name, dtypes=(torch.quint8,)):
    """torch's error for what is not quantized so."""
    if not is_quantized(x):
        raise NotImplementedError(f"Could not run '{name}' with arguments from the 'CPU' backend: the tensor is not quantized.")
    if x.dtype not in dtypes:
        raise RuntimeError(f"{name}: expected a tensor of {' or '.join([str(d) for d in dtypes])} but got {x.dtype}")
    return per_tensor(x)


def wide_for(count):
    """The dtype that holds any sum of `count` products of levels exactly."""
    return torch.float32 if count * 255 * 255 <= 2 ** 24 else torch.float64



def output(scale, zero_point):
    """The PerTensor of a result."""
    return PerTensor(float(base.number(scale)), int(base.number(zero_point)))


def rescaled(sums, x, packed, q, relu, channels=None):
    """Exact sums as levels of `q`, as FBGEMM rounds them. channels: the shape in which a channel's scale and bias meet the sums."""
    shape = channels or (-1,)
    scales, one = packed.scales(), isinstance(packed._weight._q, PerTensor)
    both = (scales * float(np.float32(x._q.scale)))
    both = both if one else both.reshape(shape)
    sums = sums.float()
    if packed._bias is not None:
        bias = packed._bias.reshape(shape)
        sums = sums + (bias * (1 / both) if one else bias / both)
    return requantized(sums, both / float(np.float32(q.scale)), q, x.dtype, q.zero_point if relu else None)


def rescaled_at_once(sums, x, packed, q, relu, channels):
    """The same as oneDNN rounds it: the bias is added to real numbers, the zero point before rounding."""
    both = packed.scales() * float(np.float32(x._q.scale))
    both = both if both.dim() == 0 else both.reshape(channels)
    numbers = sums.float() * both
    if packed._bias is not None:
        numbers = numbers + packed._bias.reshape(channels)
    one = torch.tensor(np.float32(1) / np.float32(q.scale))
    return requantized(numbers, one, q, x.dtype, q.zero_point if relu else None, False)


def symmetric(weight):
    """Whether all zero points are 0."""
    q = weight._q
    return q.zero_point == 0 if isinstance(q, PerTensor) else not bool(q.zero_points.any())


__all__ = ["LEVELS", "Packed", "checked_input", "output", "rescaled", "rescaled_at_once", "symmetric", "wide_for"]
