"""torch.distributed.device_mesh: importable; a mesh of processes raises NotImplementedError (jax.sharding.Mesh is one of devices)."""
from ._absent import absent_class, absent_function

__all__ = ["init_device_mesh", "DeviceMesh"]
DeviceMesh = absent_class(__name__, "DeviceMesh")
init_device_mesh = absent_function(__name__, "init_device_mesh")
