"""The linear layer with a quantized sparse weight, whose input chooses its own scale."""
from ..linear import Linear as _Linear


class Linear(_Linear):
    """NotImplementedError: there are no quantized sparse weights."""


__all__ = ["Linear"]
