"""torch.ao.quantization.qconfig by its older name."""
from ..ao.quantization.qconfig import QConfig  # noqa: F401
