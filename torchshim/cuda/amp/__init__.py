"""torch.cuda.amp: the old names of torch.amp for "cuda"."""
from ...dropin import missing_attribute as _missing_attribute
from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
__getattr__ = _missing_attribute(__name__)
