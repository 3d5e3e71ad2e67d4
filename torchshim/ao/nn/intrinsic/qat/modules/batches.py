"""What layers with a batch norm share while they are trained: the norm's statistics, which can be held."""
from __future__ import annotations

import torchshim as torch
from torchshim import nn
from torchshim.nn import Parameter, init


class WithBatchNorm(nn.Module):
    """A layer with a batch norm `bn`; its weight is rounded after that was multiplied in, as it will be when it is quantized."""

    def _begin(self, features, bias, eps, momentum, freeze_bn, qconfig, norm):
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = norm(features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        if bias:
            self.bias = Parameter(torch.empty(features))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        if freeze_bn or not self.training:
            self.freeze_bn_stats()
        else:
            self.update_bn_stats()

    def reset_running_stats(self):
        """Forget the norm's statistics."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self):
        """The norm's parameters anew."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)

    def update_bn_stats(self):
        """Let the norm's statistics follow the batches."""
        self.freeze_bn, self.bn.training = False, True
        return self

    def freeze_bn_stats(self):
        """Hold the norm's statistics."""
        self.freeze_bn, self.bn.training = True, False
        return self

    def train(self, mode=True):
        """The mode of the layer; of the norm, too, unless its statistics are held."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def _normalised(self, input, layer, shape):
        """bn of the layer's own result, computed with the rounded product of its weight and the norm's scale; layer(input, weight,
        bias)."""
        if self.bn.running_var is None:
            raise AssertionError("self.bn.running_var must not be None")
        factor = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
        weight = self.weight_fake_quant(self.weight * factor.reshape([-1] + [1] * (self.weight.dim() - 1)))
        none = torch.zeros(weight.shape[0], device=weight.device, dtype=input.dtype)
        out = layer(input, weight, none) / factor.reshape(shape)
        if self.bias is not None:
            out = out + self.bias.reshape(shape)
        return self.bn(out)

    def _share(self, layer, bn):
        """Take over the parameters and statistics of a layer and a norm."""
        self.weight, self.bias = layer.weight, layer.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(self.bn, name, getattr(bn, name))
        return self
