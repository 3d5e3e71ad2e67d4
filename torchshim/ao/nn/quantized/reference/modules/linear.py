"""The linear layer with a rounded weight."""
from torchshim import nn
from torchshim.nn import functional as F

from .utils import ReferenceQuantizedModule


class Linear(nn.Linear, ReferenceQuantizedModule):
    """nn.Linear with a rounded weight."""

    def __init__(self, in_features, out_features, bias_=True, device=None, dtype=None, weight_qparams=None):
        super().__init__(in_features, out_features, bias_, device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self):
        return "QuantizedLinear(Reference)"

    def forward(self, x):
        return F.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear, weight_qparams):
        """From a linear layer and what its weight is rounded by."""
        made = cls(float_linear.in_features, float_linear.out_features, float_linear.bias is not None, device=float_linear.weight.device,
                   dtype=float_linear.weight.dtype, weight_qparams=weight_qparams)
        made.weight = nn.Parameter(float_linear.weight.detach())
        if float_linear.bias is not None:
            made.bias = nn.Parameter(float_linear.bias.detach())
        return made


__all__ = ["Linear"]
