"""torch.ao.nn.quantized: modules that take and give quantized tensors."""
from ....dropin import missing_attribute as _missing_attribute
from .modules import *  # noqa: F401,F403
from .modules import __all__ as _all

__all__ = [*_all, "functional"]
__getattr__ = _missing_attribute(__name__, lazy=("dynamic", "functional", "modules", "reference"))
