"""torch.ao.quantization.fx: the parts of graph-mode quantization."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("_decomposed",))
