"""torch.ao.nn.qat.dynamic: the same for layers whose inputs choose their own scales."""
from .modules import Linear

__all__ = ["Linear"]
