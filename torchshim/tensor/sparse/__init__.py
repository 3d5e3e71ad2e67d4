"""Sparse tensors: tensors of indices and a tensor of values, on which dense operators compute.

They are instances of a subclass that answers for itself (`base`), through `__torch_function__`; a program without any pays nothing. What
is computed with them leaves nodes of their own in the graph (`history`), with gradients written as torch writes them.
"""
from . import arithmetic, compressed, conversion, coo, factories, fields, products, reductions, shapes, unary  # noqa: F401  each declares answers
from .base import Sparse, answer as answers

__all__ = ["Sparse", "answers"]
