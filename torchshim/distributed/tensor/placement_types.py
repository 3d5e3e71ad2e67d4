"""How a DTensor would lie on one dimension of a mesh."""
from __future__ import annotations

import dataclasses

from .._absent import absent_class

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

    def __str__(self):
        return f"S({self.dim})"


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


_StridedShard = absent_class(__name__, "_StridedShard")
