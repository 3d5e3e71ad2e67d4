"""torch.distributed.rpc among one process: it may call itself, by its name or its rank 0."""
from ...dropin import missing_attribute as _missing_attribute
from . import api, constants        # noqa: F401
from .api import (BackendType, RpcBackendOptions, RRef, TensorPipeRpcBackendOptions, WorkerInfo, _is_current_rpc_agent_set,  # noqa: F401
                  get_worker_info, init_rpc, is_available, remote, rpc_async, rpc_sync, shutdown)

__all__ = ["BackendType", "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo", "get_worker_info", "init_rpc",
           "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]
__getattr__ = _missing_attribute(__name__)
