"""Quantized batch norms."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn

from ... import intrinsic as nni


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    _relu, _d = "", 2

    def __init__(self, num_features, eps=1e-5, momentum=0.1, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, True, True, device=device, dtype=dtype)
        self.register_buffer("scale", torch.tensor(1.0, device=device, dtype=dtype))
        self.register_buffer("zero_point", torch.tensor(0, device=device, dtype=dtype))

    def _get_name(self):
        return f"QuantizedBatchNorm{self._d}d"

    def _check_input_dim(self, input):
        if len(input.shape) != self._d + 2:
            raise ValueError("Input shape must be `(N, C, H, W)`!")

    def forward(self, input):
        kernel = getattr(torch.ops.quantized, f"batch_norm{self._d}d{self._relu}")
        return kernel(input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, self.scale, self.zero_point)

    def _take(self, mod, scale, point):
        self.weight, self.bias, self.running_mean, self.running_var = mod.weight, mod.bias, mod.running_mean, mod.running_var
        self.scale, self.zero_point = scale, point
        return self

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """With what an observer has chosen."""
        scale, point = mod.activation_post_process.calculate_qparams()
        mod = mod[0] if type(mod) in (nni.BNReLU2d, nni.BNReLU3d) else mod
        return cls(mod.num_features, mod.eps)._take(mod, scale, point)

    @classmethod
    def from_reference(cls, bn, output_scale, output_zero_point):
        """With a scale and a zero point."""
        return cls(bn.num_features, bn.eps, bn.momentum, device=bn.weight.device,
                   dtype=bn.weight.dtype)._take(bn, output_scale, output_zero_point)


class BatchNorm2d(_BatchNorm):
    """nn.BatchNorm2d of quantized tensors, with its running means."""


class BatchNorm3d(_BatchNorm):
    """nn.BatchNorm3d of quantized tensors, with its running means."""
    _d = 3


__all__ = ["BatchNorm2d", "BatchNorm3d"]
