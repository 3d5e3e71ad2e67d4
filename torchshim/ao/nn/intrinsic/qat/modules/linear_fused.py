"""A linear layer with a batch norm, in training with rounding."""
from __future__ import annotations

from torchshim import nn
from torchshim.nn import functional as F
from torchshim.nn.utils.fusion import fuse_linear_bn_weights

from ... import _FusedModule
from .... import intrinsic as nni
from ....qat.modules.linear import checked
from .batches import WithBatchNorm


class LinearBn1d(WithBatchNorm, nn.Linear, _FusedModule):
    """A linear layer and a batch norm."""
    _FLOAT_MODULE = nni.LinearBn1d

    def __init__(self, in_features, out_features, bias=True, eps=1e-05, momentum=0.1, freeze_bn=False, qconfig=None):
        nn.Linear.__init__(self, in_features, out_features, bias)
        self._begin(out_features, bias, eps, momentum, freeze_bn, qconfig, nn.BatchNorm1d)

    def forward(self, input):
        return self._normalised(input, F.linear, [1, -1])

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a row of modules with a configuration, whose parameters it shares."""
        qconfig, linear, bn = checked(cls, mod), mod[0], mod[1]
        return cls(linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, False, qconfig)._share(linear, bn)

    def to_float(self):
        """nn.Linear with its values and the norm in them."""
        made, bn = nn.Linear(self.in_features, self.out_features), self.bn
        made.weight, made.bias = fuse_linear_bn_weights(self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
        return made


__all__ = ["LinearBn1d"]
