"""torch.signal."""
from ..dropin import missing_attribute as _missing_attribute
from . import windows

__all__ = ["windows"]
__getattr__ = _missing_attribute(__name__)
