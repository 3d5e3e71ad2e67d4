"""torch.distributed.fsdp: its options and wrapping policies; sharding a module raises NotImplementedError, as there is one process."""
from __future__ import annotations

import dataclasses

import torchshim as torch

from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_class, absent_function
from .api import (BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, LocalOptimStateDictConfig,
                  LocalStateDictConfig,
                  MixedPrecision, OptimStateDictConfig, OptimStateKeyType, ShardedOptimStateDictConfig, ShardedStateDictConfig,
                  ShardingStrategy,
                  StateDictConfig, StateDictSettings, StateDictType)
from .fully_sharded_data_parallel import FullyShardedDataParallel

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig", "FullStateDictConfig",
           "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy",
           "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
           "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard",
           "register_fsdp_forward_method"]


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


FSDPModule, UnshardHandle = absent_class(__name__, "FSDPModule"), absent_class(__name__, "UnshardHandle")
fully_shard, register_fsdp_forward_method = absent_function(__name__, "fully_shard"), absent_function(__name__, "register_fsdp_forward_method")
__getattr__ = _missing_attribute(__name__, lazy=("sharded_grad_scaler", "wrap"))
