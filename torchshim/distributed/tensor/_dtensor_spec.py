"""What torch.distributed.tensor notes of a DTensor: the mesh, a placement for each of its dimensions, and the shape of the whole."""
from __future__ import annotations

import dataclasses
import re
from typing import NamedTuple

from ...tensor.core.size import Size
from ..device_mesh import DeviceMesh

__all__ = ["DTensorSpec", "TensorMeta"]


def _abbreviated(dtype):
    """f32, bf16, i64, b8 …: a dtype's kind and bits."""
    kind, rest = re.fullmatch(r"(bfloat|float|complex|uint|int|bool)(.*)", str(dtype).removeprefix("torch.")).groups()
    return {"bfloat": "bf", "uint": "u", "bool": "b8"}.get(kind, kind[0]) + rest.replace("_", "")


class TensorMeta(NamedTuple):
    """The whole tensor's shape, strides and dtype."""
    shape: Size
    stride: tuple
    dtype: object


@dataclasses.dataclass(frozen=True)
class DTensorSpec:
    """mesh: the processes; placements: how the tensor lies on each dimension of the mesh; tensor_meta: what the whole looks like."""
    mesh: DeviceMesh
    placements: tuple
    tensor_meta: TensorMeta | None = None

    device_mesh = property(lambda self: self.mesh)
    shape = property(lambda self: self.tensor_meta.shape)
    stride = property(lambda self: self.tensor_meta.stride)
    ndim = property(lambda self: len(self.tensor_meta.shape))
    num_shards = property(lambda self: 1)

    def is_replicated(self):
        """Whether every process has all of it."""
        return all(p.is_replicate() for p in self.placements)

    def is_sharded(self):
        """Whether it is cut along some dimension."""
        return any(p.is_shard() for p in self.placements)

    @property
    def dim_map(self):
        """For each dimension of the tensor the dimension of the mesh that cuts it, or -1."""
        found = [-1] * self.ndim
        for k, p in enumerate(self.placements):
            if p.is_shard():
                found[p.dim] = k
        return found

    def __str__(self):
        meta, placed = self.tensor_meta, "".join(str(p) for p in self.placements)
        if meta is None:
            return f"Spec(unknown({placed}))"
        return f"Spec({_abbreviated(meta.dtype)}{list(meta.shape)}({placed}))"
