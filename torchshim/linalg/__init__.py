"""torch.linalg: what of it exists so far; products and norms are declared with the other operators."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api.bind import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"])
__all__ = sorted(_NAMESPACES["linalg"])
__getattr__ = _missing_attribute(__name__)
