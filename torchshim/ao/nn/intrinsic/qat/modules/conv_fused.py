"""Convolutions with a batch norm, a ReLU, or both, in training with rounding."""
from __future__ import annotations

import math

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F, init
from torchshim.nn.utils.fusion import fuse_conv_bn_weights

from ... import _FusedModule
from .... import intrinsic as nni
from ....qat.modules.conv import Conv1d as _Conv1d, Conv2d as _Conv2d, Conv3d as _Conv3d
from ....qat.modules.linear import checked
from .batches import WithBatchNorm


class _ConvBnNd(WithBatchNorm, nn.modules.conv._ConvNd, _FusedModule):
    """What the convolutions with a batch norm share."""
    _version = 2
    _FLOAT_RELU_MODULE = None

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=None,
                 padding_mode="zeros", eps=1e-05, momentum=0.1, freeze_bn=False, qconfig=None):
        self._FLOAT_CONV_MODULE.__init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False,
                                         padding_mode)
        self._begin(out_channels, bias, eps, momentum, freeze_bn, qconfig, self._FLOAT_BN_MODULE)
        self._enable_slow_path_for_better_numerical_stability = False

    def reset_bn_parameters(self):
        super().reset_bn_parameters()
        if self.bias is not None:
            bound = 1 / math.sqrt(init._calculate_fan_in_and_fan_out(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def _forward(self, input):
        if self._enable_slow_path_for_better_numerical_stability:
            return self._forward_slow(input)
        return self._normalised(input, self._conv_forward, [1, -1] + [1] * (self.weight.dim() - 2))

    def _forward_slow(self, input):
        """The same from the statistics of the batch itself, by a second convolution; it stands a norm's weight of 0."""
        bn, shape = self.bn, [1, -1] + [1] * (self.weight.dim() - 2)
        none = torch.zeros(self.out_channels, device=self.weight.device, dtype=input.dtype)
        plain = self._conv_forward(input, self.weight, none) if bn.training else None
        if bn.training:
            with torch.no_grad():
                bn(plain if self.bias is None else plain + self.bias.reshape(shape))
        running = torch.sqrt(bn.running_var + bn.eps)
        weight = self.weight_fake_quant(self.weight * (bn.weight / running).reshape([-1] + [1] * (self.weight.dim() - 1)))
        out = self._conv_forward(input, weight, none)
        if bn.training:
            over = [0] + list(range(2, self.weight.dim()))
            mean = plain.mean(over)
            deviation = torch.sqrt(torch.square(plain - mean.reshape(shape)).mean(over) + bn.eps)
            out *= (running / deviation).reshape(shape)
        else:
            mean, deviation = bn.running_mean - (self.bias if self.bias is not None else 0), running
        out += (bn.bias - bn.weight * mean / deviation).reshape(shape)
        if self.bias is not None:
            out += (self.bias - self.bias).reshape(shape)
        return out

    def forward(self, input):
        return self._forward(input)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version") in (None, 1):
            for new, old in (("weight", "gamma"), ("bias", "beta"),
                             *[(n, n) for n in ("running_mean", "running_var", "num_batches_tracked")]):
                new = f"{prefix}bn.{new}"
                if prefix + old in state_dict:
                    state_dict[new] = state_dict.pop(prefix + old)
                elif new not in state_dict and strict:
                    missing_keys.append(new)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a row of modules with a configuration, whose parameters it shares."""
        qconfig, conv, bn = checked(cls, mod), mod[0], mod[1]
        made = cls(conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.dilation, conv.groups,
                   conv.bias is not None, conv.padding_mode, bn.eps, bn.momentum, False, qconfig)
        return made._share(conv, bn)

    def to_float(self):
        """A convolution with its values and the norm in them, with a ReLU behind where it has one."""
        bn = self.bn
        made = self._FLOAT_CONV_MODULE(self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation,
                                       self.groups, self.bias is not None, self.padding_mode)
        made.weight, made.bias = fuse_conv_bn_weights(nn.Parameter(self.weight.detach()),
                                                      None if self.bias is None else nn.Parameter(self.bias.detach()), bn.running_mean,
                                                      bn.running_var, bn.eps, bn.weight, bn.bias)
        if self._FLOAT_RELU_MODULE:
            made = self._FUSED_FLOAT_MODULE(made, self._FLOAT_RELU_MODULE())
        made.train(self.training)
        return made


class _WithRelu:
    def forward(self, input):
        return F.relu(self._forward(input))


class ConvBn1d(_ConvBnNd, nn.Conv1d):
    """A 1-d convolution and a batch norm."""
    _FLOAT_BN_MODULE, _FLOAT_MODULE, _FLOAT_CONV_MODULE = nn.BatchNorm1d, nni.ConvBn1d, nn.Conv1d


class ConvBnReLU1d(_WithRelu, ConvBn1d):
    """A 1-d convolution, a batch norm and a ReLU."""
    _FLOAT_MODULE, _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nni.ConvBnReLU1d, nn.ReLU, nni.ConvReLU1d


class ConvBn2d(_ConvBnNd, nn.Conv2d):
    """A 2-d convolution and a batch norm."""
    _FLOAT_BN_MODULE, _FLOAT_MODULE, _FLOAT_CONV_MODULE = nn.BatchNorm2d, nni.ConvBn2d, nn.Conv2d


class ConvBnReLU2d(_WithRelu, ConvBn2d):
    """A 2-d convolution, a batch norm and a ReLU."""
    _FLOAT_MODULE, _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nni.ConvBnReLU2d, nn.ReLU, nni.ConvReLU2d


class ConvBn3d(_ConvBnNd, nn.Conv3d):
    """A 3-d convolution and a batch norm."""
    _FLOAT_BN_MODULE, _FLOAT_MODULE, _FLOAT_CONV_MODULE = nn.BatchNorm3d, nni.ConvBn3d, nn.Conv3d


class ConvBnReLU3d(_WithRelu, ConvBn3d):
    """A 3-d convolution, a batch norm and a ReLU."""
    _FLOAT_MODULE, _FLOAT_RELU_MODULE, _FUSED_FLOAT_MODULE = nni.ConvBnReLU3d, nn.ReLU, nni.ConvReLU3d


class _ConvReLU:
    _FLOAT_BN_MODULE, _FLOAT_RELU_MODULE = None, nn.ReLU

    def forward(self, input):
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


class ConvReLU1d(_ConvReLU, _Conv1d, _FusedModule):
    """A 1-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU1d


class ConvReLU2d(_ConvReLU, _Conv2d, _FusedModule):
    """A 2-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU2d


class ConvReLU3d(_ConvReLU, _Conv3d, _FusedModule):
    """A 3-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU3d


def update_bn_stats(mod):
    """`model.apply(update_bn_stats)`: let statistics follow the batches."""
    if isinstance(mod, WithBatchNorm):
        mod.update_bn_stats()


def freeze_bn_stats(mod):
    """`model.apply(freeze_bn_stats)`: hold statistics."""
    if isinstance(mod, WithBatchNorm):
        mod.freeze_bn_stats()


__all__ = ["ConvBn1d", "ConvBnReLU1d", "ConvReLU1d", "ConvBn2d", "ConvBnReLU2d", "ConvReLU2d", "ConvBn3d", "ConvBnReLU3d", "ConvReLU3d",
           "update_bn_stats", "freeze_bn_stats"]
