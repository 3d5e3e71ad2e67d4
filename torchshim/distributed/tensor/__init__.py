"""torch.distributed.tensor over the one process there is: DTensors hold all of their data (jax.sharding lays arrays over devices)."""
from __future__ import annotations

from ...dropin import missing_attribute as _missing_attribute
from ..device_mesh import DeviceMesh, init_device_mesh  # noqa: F401
from ._api import DTensor, distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "Shard", "Replicate", "Partial", "Placement", "ones", "empty",
           "full", "rand", "randn", "zeros"]
__getattr__ = _missing_attribute(__name__,
                                 lazy=("_api", "_dtensor_spec", "_utils", "device_mesh", "experimental", "parallel", "placement_types"))
