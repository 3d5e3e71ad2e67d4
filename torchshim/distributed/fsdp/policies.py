"""The options of `fully_shard`."""
from __future__ import annotations

import dataclasses

import torchshim as torch

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of `fully_shard`'s parameters, reductions and outputs; None keeps them."""
    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class OffloadPolicy:
    """`fully_shard` offloads nothing."""


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """`fully_shard` keeps parameters, gradients and optimizer states in the host's memory."""
    pin_memory: bool = True
