"""torch.ao.nn.quantized.dynamic: layers with quantized weights, whose inputs choose their own scales."""
from .....dropin import missing_attribute as _missing_attribute
from .modules import *  # noqa: F401,F403
from .modules import __all__ as __all__

__getattr__ = _missing_attribute(__name__, lazy=("modules",))
