"""torch.distributed.tensor.experimental by its older name."""
from ..tensor import experimental as _home
from ..tensor.experimental import implicit_replication

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]
context_parallel, local_map, register_sharding = _home.context_parallel, _home.local_map, _home.register_sharding
