"""torch.cpu.amp: the old names of torch.amp for "cpu"."""
from ...dropin import missing_attribute as _missing_attribute
from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
__getattr__ = _missing_attribute(__name__)
