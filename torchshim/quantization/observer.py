"""torch.ao.quantization.observer by its older name."""
from ..ao.quantization import ObserverBase  # noqa: F401
from ..ao.quantization.observer import *  # noqa: F401,F403
