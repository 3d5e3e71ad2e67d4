"""torch.quasirandom: Sobol' sequences."""
from ..dropin import missing_attribute as _missing_attribute
from .engine import SobolEngine

__all__ = ["SobolEngine"]
__getattr__ = _missing_attribute(__name__)
