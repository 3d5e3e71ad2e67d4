"""The modules of torch.ao.nn.quantized."""
import torchshim as torch
from torchshim import nn as _nn

from .....dropin import missing_attribute as _missing_attribute
from .activation import ELU, Hardswish, LeakyReLU, MultiheadAttention, PReLU, ReLU6, Sigmoid, Softmax
from .batchnorm import BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .dropout import Dropout
from .embedding_ops import Embedding, EmbeddingBag
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .linear import Linear
from .normalization import GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm
from .rnn import LSTM


class Quantize(_nn.Module):
    """Makes quantized tensors of float32 ones."""

    def __init__(self, scale, zero_point, dtype, factory_kwargs=None):
        super().__init__()
        options = torch.nn.factory_kwargs(factory_kwargs)
        self.register_buffer("scale", torch.tensor([scale], **options))
        self.register_buffer("zero_point", torch.tensor([zero_point], **{**options, "dtype": torch.long}))
        self.dtype = dtype

    def forward(self, X):
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """With what the stub's observer has chosen."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError(f"Module {type(mod).__name__} must have activation_post_process attribute")
        scale, point = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), point.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(_nn.Module):
    """Makes float32 tensors of quantized ones."""

    def forward(self, Xq):
        return Xq.dequantize()

    @staticmethod
    def from_float(mod, use_precomputed_fake_quant=False):
        """A new one."""
        return DeQuantize()


__all__ = ["BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
           "DeQuantize", "ELU", "Embedding", "EmbeddingBag", "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
           "LayerNorm", "LeakyReLU", "Linear", "LSTM", "MultiheadAttention", "Quantize", "ReLU6", "Sigmoid", "Softmax", "Dropout", "PReLU",
           "FloatFunctional", "FXFloatFunctional", "QFunctional"]
__getattr__ = _missing_attribute(__name__)
