"""Dropout of quantized tensors: nothing, as they are not trained."""
from torchshim import nn


class Dropout(nn.Dropout):
    """nn.Dropout as it is when nobody trains."""

    def forward(self, input):
        return input

    def _get_name(self):
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """The same of a float module."""
        return cls(mod.p, mod.inplace)

    @classmethod
    def from_reference(cls, mod, scale, zero_point):
        """The same of a reference module."""
        return cls(mod.p, mod.inplace)


__all__ = ["Dropout"]
