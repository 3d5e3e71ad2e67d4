"""torch.amp: mixed precision."""
from ..dropin import missing_attribute as _missing_attribute
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
__getattr__ = _missing_attribute(__name__)
