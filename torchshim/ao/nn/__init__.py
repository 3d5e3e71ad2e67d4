"""torch.ao.nn: modules for quantized models, and for training those that will be."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("intrinsic", "qat", "quantizable", "quantized", "sparse"))
