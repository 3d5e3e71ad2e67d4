"""torch.ao.nn.intrinsic.quantized.dynamic: rows whose inputs choose their own scales."""
from .modules import LinearReLU

__all__ = ["LinearReLU"]
