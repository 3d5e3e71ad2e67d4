"""Weights whose gradients are wanted for each sample of a batch. See `torch.nn.utils._per_sample_grad`."""
from .expanded_weights_impl import ExpandedWeight
from . import per_sample as _

__all__ = ["ExpandedWeight"]
