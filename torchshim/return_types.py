"""torch.return_types."""
from .tensor.api.return_types import ALL as _all

globals().update(_all)
__all__ = sorted(_all)
