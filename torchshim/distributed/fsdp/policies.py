"""The options of `fully_shard`."""
from __future__ import annotations

import dataclasses

import torchshim as torch

__all__ = ["CPUOffloadPolicy", "DataParallelMeshDims", "MixedPrecisionPolicy", "OffloadPolicy"]


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


@dataclasses.dataclass(frozen=True)
class DataParallelMeshDims:
    """Which dimensions of a mesh replicate and which shard: names, or tuples of names."""
    shard: str | tuple | None = None
    replicate: str | tuple | None = None

    def __post_init__(self):
        if self.shard is None and self.replicate is None:
            raise ValueError("At least one of shard or replicate must be set in DataParallelMeshDims")

    @property
    def shard_names(self):
        """`shard` as a tuple."""
        return _names(self.shard)

    @property
    def replicate_names(self):
        """`replicate` as a tuple."""
        return _names(self.replicate)


def _names(said):
    return () if said is None else (said,) if isinstance(said, str) else tuple(said)
