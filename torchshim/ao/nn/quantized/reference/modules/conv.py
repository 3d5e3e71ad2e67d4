"""Convolutions with a rounded weight."""
from __future__ import annotations

from torchshim import nn
from torchshim.nn import functional as F

from .utils import ReferenceQuantizedModule


class _ConvNd(ReferenceQuantizedModule):
    _d, _float = 1, None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None, weight_qparams=None):
        self._float.__init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                             device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self):
        return f"QuantizedConv{self._d}d(Reference)"

    def forward(self, x):
        return self._conv_forward(x, self.get_weight(), self.bias)

    @classmethod
    def _of(cls, m, **rest):
        return cls(m.in_channels, m.out_channels, m.kernel_size, m.stride, m.padding, m.dilation, m.groups, m.bias is not None,
                   m.padding_mode, **rest)

    @classmethod
    def from_float(cls, float_conv, weight_qparams):
        """From a convolution and what its weight is rounded by."""
        made = cls._of(float_conv, device=float_conv.weight.device, dtype=float_conv.weight.dtype, weight_qparams=weight_qparams)
        made.weight = nn.Parameter(float_conv.weight.detach())
        if float_conv.bias is not None:
            made.bias = nn.Parameter(float_conv.bias.detach())
        return made


class Conv1d(_ConvNd, nn.Conv1d):
    """nn.Conv1d with a rounded weight."""
    _d, _float = 1, nn.Conv1d


class Conv2d(_ConvNd, nn.Conv2d):
    """nn.Conv2d with a rounded weight."""
    _d, _float = 2, nn.Conv2d


class Conv3d(_ConvNd, nn.Conv3d):
    """nn.Conv3d with a rounded weight."""
    _d, _float = 3, nn.Conv3d


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None, weight_qparams=None):
        self._float.__init__(self, in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
                             padding_mode, device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self):
        return f"QuantizedConvTranspose{self._d}d(Reference)"

    def forward(self, x, output_size=None):
        more = self._output_padding(x, output_size, self.stride, self.padding, self.kernel_size, self._d, self.dilation)
        return getattr(F, f"conv_transpose{self._d}d")(x, self.get_weight(), self.bias, self.stride, self.padding, more, self.groups,
                                                       self.dilation)

    @classmethod
    def _of(cls, m, **rest):
        return cls(m.in_channels, m.out_channels, m.kernel_size, m.stride, m.padding, m.output_padding, m.groups,
                   m.bias is not None, m.dilation, m.padding_mode, **rest)


class ConvTranspose1d(_ConvTransposeNd, nn.ConvTranspose1d):
    """nn.ConvTranspose1d with a rounded weight."""
    _d, _float = 1, nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd, nn.ConvTranspose2d):
    """nn.ConvTranspose2d with a rounded weight."""
    _d, _float = 2, nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd, nn.ConvTranspose3d):
    """nn.ConvTranspose3d with a rounded weight."""
    _d, _float = 3, nn.ConvTranspose3d


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
