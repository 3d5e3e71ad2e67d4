"""The linear layer with a quantized sparse weight."""
from torchshim import nn


class LinearPackedParams(nn.Module):
    """NotImplementedError: there are no quantized sparse weights."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torchshim: {type(self).__module__}.{type(self).__name__}; there are no quantized sparse weights")


class Linear(LinearPackedParams):
    """NotImplementedError: there are no quantized sparse weights."""
    _FLOAT_MODULE = nn.Linear

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """NotImplementedError."""
        return cls()


__all__ = ["LinearPackedParams", "Linear"]
