"""The operators torch.ops.quantized_decomposed, as functions."""
from torchshim.ao._kernels.decomposed import (choose_qparams, dequantize_per_channel, dequantize_per_tensor, quantize_per_channel,  # noqa: F401
                                              quantize_per_tensor)
