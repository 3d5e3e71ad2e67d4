"""Quantized normalisations; results have the given scale and zero point."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

from .utils import chosen


def _place(self, scale, zero_point, device, dtype):
    self.register_buffer("scale", torch.tensor(scale, device=device, dtype=dtype))
    self.register_buffer("zero_point", torch.tensor(zero_point, device=device, dtype=dtype))


class LayerNorm(nn.LayerNorm):
    """nn.LayerNorm of quantized tensors."""

    def __init__(self, normalized_shape, weight, bias, scale, zero_point, eps=1e-5, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        _place(self, scale, zero_point, device, dtype)

    def forward(self, input):
        return torch.ops.quantized.layer_norm(input, self.normalized_shape, weight=self.weight, bias=self.bias, eps=self.eps,
                                              output_scale=self.scale, output_zero_point=self.zero_point)

    def _get_name(self):
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return cls.from_reference(mod, *chosen(mod.activation_post_process))

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(mod.normalized_shape, mod.weight, mod.bias, float(scale), int(zero_point), mod.eps, mod.elementwise_affine)


class GroupNorm(nn.GroupNorm):
    """nn.GroupNorm of quantized tensors."""

    def __init__(self, num_groups, num_channels, weight, bias, scale, zero_point, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        _place(self, scale, zero_point, device, dtype)

    def forward(self, input):
        return torch.ops.quantized.group_norm(input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *chosen(mod.activation_post_process), mod.eps, mod.affine)


class _InstanceNorm:
    def __init__(self, num_features, weight, bias, scale, zero_point, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        _place(self, scale, zero_point, device, dtype)

    def forward(self, input):
        return torch.ops.quantized.instance_norm(input, self.weight, self.bias, self.eps, self.scale, self.zero_point)

    def _get_name(self):
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        return cls.from_reference(mod, *chosen(mod.activation_post_process))

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """With a scale and a zero point."""
        return cls(mod.num_features, mod.weight, mod.bias, float(scale), int(zero_point), mod.eps, mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """nn.InstanceNorm1d of quantized tensors."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """nn.InstanceNorm2d of quantized tensors."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """nn.InstanceNorm3d of quantized tensors."""


__all__ = ["LayerNorm", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
