"""torch.distributed: collectives between processes that find each other by a store, over sockets, in gloo's order.

`_names` has what all share, `_stores` the dictionaries by which processes meet (`rendezvous` says where), `_peers` the sockets between
them, `_gloo` the collectives on arrays, `_group` groups and works, `_collectives` the functions of tensors.
"""
from __future__ import annotations

import os

from .. import device as _device
from ..dropin import missing_attribute as _missing_attribute
from . import _backends
from ._collectives import (P2POp, _all_gather_base, _reduce_scatter_base, all_gather, all_gather_coalesced, all_gather_into_tensor,
                           all_gather_object, all_gather_single, all_reduce, all_reduce_coalesced, all_to_all, all_to_all_single, barrier,
                           batch_isend_irecv, broadcast, broadcast_object_list, gather, gather_object, irecv, isend, monitored_barrier,
                           recv, recv_object_list, reduce, reduce_scatter, reduce_scatter_single, reduce_scatter_tensor, scatter,
                           scatter_object_list, send, send_object_list)
from ._buckets import GradBucket
from ._group import (GroupMember, ProcessGroup, ProcessGroupGloo, Work,
                     destroy_process_group, get_backend, get_backend_config, get_global_rank,
                     get_group_rank, get_node_local_rank, get_pg_count, get_process_group_ranks, get_rank, get_world_size, group,
                     init_process_group, is_initialized, new_group, new_subgroups, new_subgroups_by_enumeration, shrink_group, split_group)
from ._names import (AllreduceCoalescedOptions, AllreduceOptions, AllToAllOptions, Backend, BackendConfig, BarrierOptions, BroadcastOptions,
                     BuiltinCommHookType, DebugLevel, DistBackendError, DistError, DistNetworkError, DistStoreError, GatherOptions,
                     QueueEmptyError, ReduceOp, ReduceOptions, ReduceScatterOptions, ScatterOptions, default_pg_timeout, get_debug_level,
                     reduce_op, set_debug_level, set_debug_level_from_env, supports_complex)
from ._stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from .rendezvous import register_rendezvous_handler, rendezvous

__all__ = [
    "AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BackendConfig", "BarrierOptions", "BroadcastOptions",
    "BuiltinCommHookType", "DebugLevel", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore",
    "GatherOptions", "GradBucket", "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup",
    "ProcessGroupGloo", "QueueEmptyError", "ReduceOp",
    "ReduceOptions", "ReduceScatterOptions", "ScatterOptions", "Store", "TCPStore", "Work", "all_gather", "all_gather_coalesced",
    "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce", "all_reduce_coalesced", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout",
    "destroy_process_group", "gather", "gather_object", "get_backend", "get_backend_config", "get_debug_level",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "recv", "recv_object_list", "reduce", "reduce_op", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor",
    "register_rendezvous_handler", "rendezvous", "scatter", "scatter_object_list", "send", "send_object_list", "set_debug_level",
    "set_debug_level_from_env", "shrink_group", "split_group", "supports_complex"]


def is_available():
    """Whether this package is there: True."""
    return True


def is_gloo_available():
    """True: collectives go over sockets, in gloo's order."""
    return True


def is_nccl_available():
    """Whether there are GPUs: their tensors go over sockets then, too."""
    return _backends.is_available("nccl")


def is_mpi_available():
    """False."""
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_backend_available(backend):
    """Whether a backend of that name can be asked for."""
    return _backends.is_available(backend.lower())


def is_torchelastic_launched():
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device):
    """nccl for CUDA, gloo for the CPU. ValueError for a kind of device that has none."""
    kind = (_device(device) if isinstance(device, str) else device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


__getattr__ = _missing_attribute(__name__,
                                 lazy=("autograd", "config", "launcher", "_composable",
                                       "_functional_collectives", "_shard", "_symmetric_memory", "_tensor", "algorithms",
                                       "checkpoint", "constants", "device_mesh", "distributed_c10d", "elastic", "fsdp", "nn", "optim",
                                       "pipelining", "rpc", "run", "tensor"),
                                 elsewhere={"DeviceMesh": "device_mesh", "_rank_not_in_group": "distributed_c10d",
                                            "init_device_mesh": "device_mesh"})
