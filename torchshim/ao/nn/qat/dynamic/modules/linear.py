"""The linear layer in training with rounding, whose inputs choose their own scales."""
from ....qat import Linear as _Linear
from .....quantization.utils import activation_is_memoryless


class Linear(_Linear):
    """torch.ao.nn.qat.Linear. ValueError for configurations whose activations are watched with memory."""

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not activation_is_memoryless(qconfig):
            raise ValueError("Dynamic QAT requires a memoryless observer." + "This means a MovingAverage observer with averaging constant "
                             "equal to 1")


__all__ = ["Linear"]
