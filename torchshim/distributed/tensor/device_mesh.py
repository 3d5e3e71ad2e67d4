"""`torch.distributed.tensor.device_mesh`: an older place of `torch.distributed.device_mesh`'s names."""
from ..device_mesh import DeviceMesh, init_device_mesh
from ...dropin import missing_attribute as _missing_attribute

__all__ = ["init_device_mesh", "DeviceMesh"]
__getattr__ = _missing_attribute(__name__)
