"""A linear layer with a ReLU whose input chooses its own scale."""
import torchshim as torch

from ..... import intrinsic as nni
from .....quantized import dynamic as nnqd


class LinearReLU(nnqd.Linear):
    """A linear layer and a ReLU."""
    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x):
        packed = self._packed_params
        if packed.dtype is torch.qint8:
            return torch.ops.quantized.linear_relu_dynamic(x, packed._packed_params, reduce_range=True).to(x.dtype)
        return torch.ops.quantized.linear_relu_dynamic_fp16(x, packed._packed_params).to(x.dtype)

    def _get_name(self):
        return "DynamicQuantizedLinearReLU"

    @classmethod
    def from_reference(cls, ref_qlinear_relu):
        """From a row with a reference module."""
        return super().from_reference(ref_qlinear_relu[0])


__all__ = ["LinearReLU"]
