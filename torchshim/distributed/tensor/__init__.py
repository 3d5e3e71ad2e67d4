"""torch.distributed.tensor: importable, with its placements; making a DTensor raises NotImplementedError (jax.sharding does what it is
for).
"""
from __future__ import annotations

from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_class, absent_function
from ..device_mesh import DeviceMesh, init_device_mesh  # noqa: F401
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "Shard", "Replicate", "Partial", "Placement"]
DTensor = absent_class(__name__, "DTensor")
distribute_tensor, distribute_module = absent_function(__name__, "distribute_tensor"), absent_function(__name__, "distribute_module")
__getattr__ = _missing_attribute(__name__, lazy=("experimental", "parallel", "placement_types"))
