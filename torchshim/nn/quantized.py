"""torch.nn.quantized: the older name of torch.ao.nn.quantized."""
from ..ao.nn.quantized import FloatFunctional, FXFloatFunctional    # noqa: F401
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
