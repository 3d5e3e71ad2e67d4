"""The options of FullyShardedDataParallel."""
from __future__ import annotations

import dataclasses
import enum

import torchshim as torch

from ...nn.modules.batchnorm import _BatchNorm

__all__ = ["ShardingStrategy", "BackwardPrefetch", "MixedPrecision", "CPUOffload", "StateDictType", "StateDictConfig",
           "FullStateDictConfig",
           "LocalStateDictConfig", "ShardedStateDictConfig", "OptimStateDictConfig", "FullOptimStateDictConfig",
           "LocalOptimStateDictConfig",
           "ShardedOptimStateDictConfig", "StateDictSettings"]

ShardingStrategy = enum.Enum("ShardingStrategy", "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2", module=__name__)
BackwardPrefetch = enum.Enum("BackwardPrefetch", "BACKWARD_PRE BACKWARD_POST", module=__name__)
StateDictType = enum.Enum("StateDictType", "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT", module=__name__)
OptimStateKeyType = enum.Enum("OptimStateKeyType", "PARAM_NAME PARAM_ID", module=__name__)


@dataclasses.dataclass
class MixedPrecision:
    """The dtypes of parameters in computations, of gradient reductions and of buffers; None keeps them."""
    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: tuple = (_BatchNorm,)


@dataclasses.dataclass
class CPUOffload:
    """Whether parameters that are not in use lie in the host's memory."""
    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """How a model's state dict is collected."""
    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """The whole state dict, at process 0 alone or at every one."""
    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Each process's flat shard."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Each process's shards in the shape of the parameters."""
    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """How an optimizer's state dict is collected."""
    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """The whole state dict, at process 0 alone or at every one."""
    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Each process's flat shard."""
    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Each process's shards in the shape of the parameters."""
    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """What `FullyShardedDataParallel.get_state_dict_type` gives."""
    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
