"""Convolutions with a ReLU, quantized."""
from .... import intrinsic as nni
from ....quantized import Conv1d, Conv2d, Conv3d


class _Relu:
    def forward(self, input):
        return self._kernel("_relu")(self._padded(input), self._packed_params, self.scale, self.zero_point)

    def _get_name(self):
        return f"QuantizedConvReLU{self._d}d"

    @classmethod
    def _trained(cls):
        from ...qat import ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d
        return (ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d)[cls._d - 1]

    @classmethod
    def from_reference(cls, ref_qconv, output_scale, output_zero_point):
        """From a row with a reference module, with the scale and zero point of results."""
        return super().from_reference(ref_qconv[0] if hasattr(ref_qconv, "__getitem__") else ref_qconv, output_scale, output_zero_point)


class ConvReLU1d(_Relu, Conv1d):
    """A 1-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU1d


class ConvReLU2d(_Relu, Conv2d):
    """A 2-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU2d


class ConvReLU3d(_Relu, Conv3d):
    """A 3-d convolution and a ReLU."""
    _FLOAT_MODULE = nni.ConvReLU3d


__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]
