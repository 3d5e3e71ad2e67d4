"""torch.mps.event: events of a device that is not there."""
from . import Event        # noqa: F401
