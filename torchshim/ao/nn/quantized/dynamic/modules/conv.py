"""Convolutions with quantized weights, whose inputs choose their own scales."""
from __future__ import annotations

import warnings

from torchshim import nn

from ... import modules as nnq


class _Dynamic:
    def __init__(self, *args, reduce_range=True, **kwargs):
        warnings.warn(f"The current implementation of the {self._get_name()} module has poor numerical accuracy and its use is not "
                      "recommended", stacklevel=2)
        super().__init__(*args, **kwargs)

    def _get_name(self):
        return f"DynamicQuantizedConv{'Transpose' if self._transposed else ''}{self._d}d"

    def forward(self, input, reduce_range=True):
        return self._kernel("_dynamic")(self._padded(input), self._packed_params, reduce_range)


class Conv1d(_Dynamic, nnq.Conv1d):
    """nn.Conv1d with a quantized weight."""
    _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Dynamic, nnq.Conv2d):
    """nn.Conv2d with a quantized weight."""
    _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Dynamic, nnq.Conv3d):
    """nn.Conv3d with a quantized weight."""
    _FLOAT_MODULE = nn.Conv3d


class ConvTranspose1d(_Dynamic, nnq.ConvTranspose1d):
    """nn.ConvTranspose1d with a quantized weight."""
    _FLOAT_MODULE = nn.ConvTranspose1d


class ConvTranspose2d(_Dynamic, nnq.ConvTranspose2d):
    """nn.ConvTranspose2d with a quantized weight."""
    _FLOAT_MODULE = nn.ConvTranspose2d


class ConvTranspose3d(_Dynamic, nnq.ConvTranspose3d):
    """nn.ConvTranspose3d with a quantized weight."""
    _FLOAT_MODULE = nn.ConvTranspose3d


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
