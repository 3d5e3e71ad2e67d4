"""The linear layer in training with rounding."""
from __future__ import annotations

from torchshim import nn
from torchshim.nn import functional as F
from torchshim.nn.utils import parametrize

from ...intrinsic import LinearReLU


def checked(cls, mod, what="qat"):
    """torch's errors where a module of the wrong class, or without a configuration, is to be converted."""
    if parametrize.type_before_parametrizations(mod) is not cls._FLOAT_MODULE:
        raise AssertionError(f"{what}.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got "
                             f"{parametrize.type_before_parametrizations(mod).__name__}")
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError("Input float module must have a valid qconfig")
    return mod.qconfig


class Linear(nn.Linear):
    """nn.Linear whose weight is rounded by `weight_fake_quant`. AssertionError without a configuration."""
    _FLOAT_MODULE = nn.Linear

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    def forward(self, input):
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a linear layer with a configuration, whose parameters it shares."""
        checked(cls, mod)
        mod = mod[0] if parametrize.type_before_parametrizations(mod) is LinearReLU else mod
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=mod.qconfig)
        for name in ("weight", "bias"):
            if parametrize.is_parametrized(mod, name):
                parametrize.transfer_parametrizations_and_params(mod, made, name)
            else:
                setattr(made, name, getattr(mod, name))
        return made

    def to_float(self):
        """nn.Linear with its values."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made


__all__ = ["Linear"]
