"""Sizes, steps and orders of memory for operators of one and of two tensors."""
from ....dropin import missing_attribute as _missing_attribute
from . import binary, sparse_binary, sparse_unary, spectral, unary

__getattr__ = _missing_attribute(__name__)
