"""torch.distributed._tensor: the older name of torch.distributed.tensor."""
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_module, distribute_tensor

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
           "init_device_mesh"]
