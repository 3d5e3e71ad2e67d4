"""Operators over a batch: another operator applied to each row of some of its operands, by jax.vmap, recorded like any other."""
from __future__ import annotations

import jax

from ..record.memo import Memo
from ..record.meta import meta_of
from .instance import Instance
from .operator import Operator

_made = Memo(1024)


class Batched(Operator):
    """`op` for each row of the operands that are `mapped` (a bool for each); results have the rows first."""
    grad = "VmapBackward"

    def __init__(self, op, mapped):
        super().__init__(op.name + "_rows")
        self.op, self.mapped = op, mapped

    @classmethod
    def of(cls, op, mapped):
        """The one such operator."""
        return _made.get((op, mapped)) or _made.keep((op, mapped), cls(op, mapped))

    def build(self, layout, metas, kinds):
        one = self._one(layout, metas, kinds)
        axes = (*[0 if b else None for b in self.mapped], *[None] * len(kinds))
        return Instance(self, layout, jax.vmap(lambda *args: list(one.fn(*args)), in_axes=axes), metas, kinds, metas[0].device,
                        tuple([(_extent(m), *m.strides) if m.numel else None for m in one.out_metas]))

    def _one(self, layout, metas, kinds):
        return self.op.resolve(layout, tuple([row_of(m) if b else m for m, b in zip(metas, self.mapped)]), kinds)

    def grad_for(self, inst, needs):
        """The name of the node of one row's call."""
        one = self._one(inst.layout, inst.in_metas, inst.kinds)
        return one.op.grad_for and one.op.grad_for(one, needs) or one.grad_fn_name


def row_of(m):
    """What one row of a Value with this Meta has."""
    return meta_of(m.shape[1:], m.dtype, m.device, m.strides[1:])


def _extent(m):
    """How many elements of memory lie between the first and the last of a row, these included: so far is it to the next one."""
    return 1 + sum([(n - 1) * s for n, s in zip(m.shape, m.strides)])
