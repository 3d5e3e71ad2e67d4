"""torch.ao.nn.qat: layers that round their weight while they are trained."""
from ....dropin import missing_attribute as _missing_attribute
from .modules import *  # noqa: F401,F403
from .modules import __all__ as __all__

__getattr__ = _missing_attribute(__name__, lazy=("dynamic", "modules"))
