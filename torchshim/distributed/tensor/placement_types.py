"""How a DTensor lies on one dimension of a mesh. With one process every placement holds all of the tensor."""
from __future__ import annotations

import dataclasses

__all__ = ["Placement", "Shard", "Replicate", "Partial"]


class Placement:
    """Base class of the placements."""

    def is_shard(self, dim=None):
        """Whether it is cut along `dim`, or along any."""
        return False

    def is_replicate(self):
        """Whether every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """Whether the processes' tensors are yet to be combined, by `reduce_op` if that is given."""
        return False


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Cut along tensor dimension `dim`."""
    dim: int

    def is_shard(self, dim=None):
        return dim is None or dim == self.dim

    def _of(self, dim):
        """The same placement of another dimension."""
        return dataclasses.replace(self, dim=dim)

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """(how long the part of process `rank` is, where it begins) of `curr_local_size` cut into `num_chunks`, as torch.chunk cuts."""
        each = -(-curr_local_size // num_chunks)
        start = min(each * rank, curr_local_size)
        return min(each, curr_local_size - start), start

    def __str__(self):
        return f"S({self.dim})"


@dataclasses.dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut along `dim` after another dimension of the mesh cut it into `split_factor` pieces."""
    split_factor: int = dataclasses.field(default=1, kw_only=True)

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Every process has all of it."""

    def __str__(self):
        return "R"


@dataclasses.dataclass(frozen=True, repr=False)
class Partial(Placement):
    """Every process has a summand (or what `reduce_op` combines)."""
    reduce_op: str = "sum"

    def is_partial(self, reduce_op=None):
        return reduce_op is None or reduce_op == self.reduce_op

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"


@dataclasses.dataclass(frozen=True, repr=False)
class _NormPartial(Partial):
    """Every process has the norm of its part."""
    norm_type: float = 2

    def __repr__(self):
        return f"_NormPartial({self.norm_type})"
