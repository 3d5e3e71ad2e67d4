"""Linear layers with an activation, quantized."""
import torchshim as torch

from .... import intrinsic as nni
from ....quantized import Linear
from ....quantized.modules.utils import _quantize_weight, chosen


class LinearReLU(Linear):
    """A linear layer and a ReLU."""
    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x):
        return torch.ops.quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedLinearReLU"

    @classmethod
    def from_reference(cls, ref_linear_relu, output_scale, output_zero_point):
        """From a row with a reference module, with the scale and zero point of results."""
        return super().from_reference(ref_linear_relu[0], output_scale, output_zero_point)


class _Activated(Linear):
    @classmethod
    def _of(cls, mod):
        return cls(mod[0].in_features, mod[0].out_features)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """From a row of modules that was observed. AssertionError for others."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Input float module should be {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        watcher = mod[0].qconfig.weight() if hasattr(mod[0], "qconfig") else mod.qconfig.weight()
        watcher(mod[0].weight)
        made = cls._of(mod)
        made.set_weight_bias(_quantize_weight(mod[0].weight.float(), watcher), mod[0].bias)
        made.scale, made.zero_point = chosen(mod.activation_post_process)
        return made

    @classmethod
    def from_reference(cls, ref_mod, output_scale, output_zero_point):
        """From a row with a reference module, with the scale and zero point of results."""
        made = cls._of(ref_mod)
        made.set_weight_bias(ref_mod[0].get_quantized_weight(), ref_mod[0].bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


class LinearLeakyReLU(_Activated):
    """A linear layer and a leaky ReLU."""
    _FLOAT_MODULE = nni.LinearLeakyReLU

    def __init__(self, in_features, out_features, negative_slope, bias=True, dtype=torch.qint8):
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    def forward(self, x):
        return torch.ops.quantized.linear_leaky_relu(x, self._packed_params._packed_params, self.scale, self.zero_point,
                                                     self.negative_slope)

    def _get_name(self):
        return "QuantizedLinearLeakyReLU"

    @classmethod
    def _of(cls, mod):
        return cls(mod[0].in_features, mod[0].out_features, mod[1].negative_slope)


class LinearTanh(_Activated):
    """A linear layer and a tanh."""
    _FLOAT_MODULE = nni.LinearTanh

    def forward(self, x):
        return torch.ops.quantized.linear_tanh(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedLinearTanh"


__all__ = ["LinearReLU", "LinearLeakyReLU", "LinearTanh"]
