"""torch.ao.nn.sparse.quantized.dynamic. Making a layer raises NotImplementedError."""
from .linear import Linear

__all__ = ["Linear"]
