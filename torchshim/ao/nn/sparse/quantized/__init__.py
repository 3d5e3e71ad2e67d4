"""torch.ao.nn.sparse.quantized: linear layers whose weights are quantized and sparse. Making one raises NotImplementedError."""
from .....dropin import missing_attribute as _missing_attribute
from .linear import Linear, LinearPackedParams

__all__ = ["dynamic", "Linear", "LinearPackedParams"]
__getattr__ = _missing_attribute(__name__, lazy=("dynamic", "linear", "utils"))
