"""Convolutions plus another tensor, quantized."""
from .... import intrinsic as nni
from ....quantized import Conv2d


class ConvAdd2d(Conv2d):
    """A convolution plus a quantized tensor."""
    _FLOAT_MODULE, _suffix = nni.ConvAdd2d, "_add"

    def forward(self, input, extra_input):
        return self._kernel(self._suffix)(self._padded(input), extra_input, self._packed_params, self.scale, self.zero_point)

    def _get_name(self):
        return "QuantizedConvAdd2d"

    @classmethod
    def from_reference(cls, ref_qconv, output_scale, output_zero_point):
        """From a row with a reference module, with the scale and zero point of results."""
        return super().from_reference(ref_qconv[0], output_scale, output_zero_point)


class ConvAddReLU2d(ConvAdd2d):
    """A convolution plus a quantized tensor, and a ReLU."""
    _FLOAT_MODULE, _suffix = nni.ConvAddReLU2d, "_add_relu"

    def _get_name(self):
        return "QuantizedConvAddReLU2d"


__all__ = ["ConvAdd2d", "ConvAddReLU2d"]
