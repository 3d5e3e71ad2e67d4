"""Convolutions in training with rounding."""
from __future__ import annotations

from torchshim import nn

from ...intrinsic import _FusedModule
from .linear import checked


class _ConvNd(nn.modules.conv._ConvNd):
    """What they share: `weight_fake_quant` rounds the weight. AssertionError without a configuration."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 qconfig=None, device=None, dtype=None):
        self._FLOAT_CONV_MODULE.__init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                                         padding_mode, device=device, dtype=dtype)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    def forward(self, input):
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a convolution with a configuration, whose parameters it shares."""
        checked(cls, mod)
        mod = mod[0] if isinstance(mod, _FusedModule) else mod
        made = cls(mod.in_channels, mod.out_channels, mod.kernel_size, stride=mod.stride, padding=mod.padding, dilation=mod.dilation,
                   groups=mod.groups, bias=mod.bias is not None, padding_mode=mod.padding_mode, qconfig=mod.qconfig)
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def to_float(self):
        """A convolution with its values, with a ReLU behind where it has one."""
        made = self._FLOAT_CONV_MODULE(self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation,
                                       self.groups, self.bias is not None, self.padding_mode)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        if isinstance(self, _FusedModule):
            made = self._FLOAT_MODULE(made, self._FLOAT_RELU_MODULE())
            made.train(self.training)
        return made


class Conv1d(_ConvNd, nn.Conv1d):
    """nn.Conv1d with a rounded weight."""
    _FLOAT_MODULE = _FLOAT_CONV_MODULE = nn.Conv1d


class Conv2d(_ConvNd, nn.Conv2d):
    """nn.Conv2d with a rounded weight."""
    _FLOAT_MODULE = _FLOAT_CONV_MODULE = nn.Conv2d


class Conv3d(_ConvNd, nn.Conv3d):
    """nn.Conv3d with a rounded weight."""
    _FLOAT_MODULE = _FLOAT_CONV_MODULE = nn.Conv3d


__all__ = ["Conv1d", "Conv2d", "Conv3d"]
