"""The modules of torch.ao.nn.qat.dynamic."""
from .linear import Linear

__all__ = ["Linear"]
