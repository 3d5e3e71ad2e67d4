"""Quantized tensors: whole levels in an ordinary tensor of integers, and beside them a scale and a zero point, or one of each for every
index along an axis.

They are instances of a subclass that answers for itself (`base`), through `__torch_function__`; a program without any pays nothing. Views
of them see views of the integers. Nothing here has gradients, as in torch.
"""
from . import arithmetic, factories, fields, pooling, shapes, text  # noqa: F401  each declares answers
from .base import Quantized

__all__ = ["Quantized"]
