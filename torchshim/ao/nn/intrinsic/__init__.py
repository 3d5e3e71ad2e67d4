"""torch.ao.nn.intrinsic: modules in a row that are one for quantization."""
from ....dropin import missing_attribute as _missing_attribute
from .modules.fused import (BNReLU2d, BNReLU3d, ConvAdd2d, ConvAddReLU2d, ConvBn1d, ConvBn2d, ConvBn3d, ConvBnReLU1d, ConvBnReLU2d,
                            ConvBnReLU3d, ConvReLU1d, ConvReLU2d, ConvReLU3d, LinearBn1d, LinearLeakyReLU, LinearReLU, LinearTanh,
                            _FusedModule)

__all__ = ["BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
           "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU", "LinearReLU", "LinearTanh",
           "_FusedModule"]
__getattr__ = _missing_attribute(__name__, lazy=("qat", "quantized", "modules"))
