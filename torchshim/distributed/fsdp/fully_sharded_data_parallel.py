"""FullyShardedDataParallel, which is not there, with its options."""
from .._absent import absent_class
from .api import (BackwardPrefetch, CPUOffload, FullOptimStateDictConfig, FullStateDictConfig, LocalOptimStateDictConfig,
                  LocalStateDictConfig,
                  MixedPrecision, OptimStateDictConfig, OptimStateKeyType, ShardedOptimStateDictConfig, ShardedStateDictConfig,
                  ShardingStrategy,
                  StateDictConfig, StateDictSettings, StateDictType)

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType", "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig",
           "FullStateDictConfig", "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
           "StateDictType"]
FullyShardedDataParallel = absent_class("torchshim.distributed.fsdp", "FullyShardedDataParallel")
