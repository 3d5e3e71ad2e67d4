"""A linear layer with a ReLU, in training with rounding."""
from __future__ import annotations

from torchshim.nn import ReLU, functional as F

from ... import _FusedModule
from .... import intrinsic as nni
from ....qat.modules.linear import Linear as _Linear


class LinearReLU(_Linear, _FusedModule):
    """A linear layer and a ReLU."""
    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, input):
        return F.relu(F.linear(input, self.weight_fake_quant(self.weight), self.bias))

    def to_float(self):
        """The row of modules with its values."""
        return nni.LinearReLU(_Linear.to_float(self), ReLU())


__all__ = ["LinearReLU"]
