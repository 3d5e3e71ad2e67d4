"""Sparse tensors: tensors of indices and a tensor of values, on which dense operators compute; gradients are those of the values.

They are instances of a subclass that answers for itself (`base`), through `__torch_function__`; a program without any pays nothing.
"""
from . import arithmetic, compressed, coo, fields, products  # noqa: F401  each declares its answers
from .base import Sparse, answer as answers

__all__ = ["Sparse", "answers"]
