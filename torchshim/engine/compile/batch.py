"""Operators over a batch: another operator applied to each row of some of its operands, by jax.vmap, recorded like any other.

A function of one example is one of a batch where its argument is an `Example`: what is done to it is recorded for the batch.
"""
from __future__ import annotations

import operator

import jax

from ..record.memo import Memo
from ..record.meta import Meta, meta_of
from ..record.trace import record
from ..record.value import TRACED, NeedsNumbers, value_of
from .instance import Instance
from .operator import Operator

_made = Memo(1024)
_depth = operator.attrgetter("depth")
_ESCAPED = ("Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
            "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in `gen_vmap_plumbing` "
            "Please file an issue if it looks like the latter")


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
        strides = self._strides(one, metas)
        return Instance(self, layout, jax.vmap(lambda *args: list(one.fn(*args)), in_axes=axes), metas, kinds, metas[0].device,
                        (strides,) if strides else tuple([(_extent(m), *m.strides) if m.numel else None for m in one.out_metas]))

    def _strides(self, one, metas):
        """How the rows of the result lie, where the operator has a say."""
        op, batches = self.op, [self.mapped]
        while op.__class__ is Batched:         # of rows
            batches.append(op.mapped)
            op, one = op.op, op._one(one.layout, one.in_metas, one.kinds)
        return op.batch_strides(one, [_raised(m, [mapped[k] for mapped in batches], one.out_metas[0].ndim) for k, m in enumerate(metas)],
                                len(batches))

    def _one(self, layout, metas, kinds):
        return self.op.resolve(layout, tuple([row_of(m) if b else m for m, b in zip(metas, self.mapped)]), kinds)

    def grad_for(self, inst, needs):
        """The name of the node of one row's call."""
        one = self._one(inst.layout, inst.in_metas, inst.kinds)
        return one.op.grad_for and one.op.grad_for(one, needs) or one.grad_fn_name


class Example:
    """Stands where the array of a Value is that is each row of `batch`, a Value, at a `level`: that has a `depth`, and is `over` or not."""
    __slots__ = ("batch", "level")

    def __init__(self, batch, level):
        self.batch, self.level = batch, level

    def _numbers(self, *_, **__):
        """What NumPy and Python do with an array ends here."""
        raise NeedsNumbers

    __array__ = __bool__ = __index__ = __int__ = __float__ = _numbers


def example_of(batch, level, meta=None):
    """The Value that is each row of `batch`."""
    v = value_of(Example(batch, level), row_of(batch.meta) if meta is None else meta)
    v.extra = TRACED
    return v


def innermost(vals):
    """The innermost level at which some of the Values are Examples; None where none is."""
    return max([v.array.level for v in vals if v.array.__class__ is Example], key=_depth, default=None)


def is_example(v, level):
    """Whether a Value is an Example at a level."""
    return v.array.__class__ is Example and v.array.level is level


def of_batch(op, vals):
    """What `op` on these Values is for the innermost batch of which some are Examples: (the operator, its Values, the level); None where none
    is."""
    level = innermost(vals)
    if level is None:
        return None
    if level.over:
        raise RuntimeError(_ESCAPED)
    mapped = tuple([is_example(v, level) for v in vals])
    return Batched.of(op, mapped), [v.array.batch if b else v for v, b in zip(vals, mapped)], level


def for_examples(context, op, layout, vals, nums, kinds):
    """Record `op` for whole batches, where some of the Values are Examples: (what `record` gives for one example, its Instance); None where
    none is."""
    found = of_batch(op, vals)
    if found is None:
        return None
    batched, rows, level = found
    inst = op.resolve(layout, tuple([v.meta for v in vals]), kinds)
    made, _ = record(context, batched, layout, rows, nums, kinds)
    if inst.out.__class__ is Meta:
        return example_of(made, level, inst.out), inst
    return [example_of(v, level, m) for v, m in zip(made, inst.out)], inst


def row_of(m):
    """What one row of a Value with this Meta has."""
    return meta_of(m.shape[1:], m.dtype, m.device, m.strides[1:])


def _raised(m, mapped, ndim):
    """The Meta of an operand with a dimension for each batch, those that it is not mapped over, too, and `ndim` behind them."""
    dims, n = zip(m.shape, m.strides), ndim - (m.ndim - sum(mapped))
    dims = [*[next(dims) if b else (1, 0) for b in mapped], *[(1, 0)] * n, *dims]
    return meta_of(tuple([size for size, _ in dims]), m.dtype, m.device, tuple([step for _, step in dims]))


def _extent(m):
    """How many elements of memory lie between the first and the last of a row, these included: so far is it to the next one."""
    return 1 + sum([(n - 1) * s for n, s in zip(m.shape, m.strides)])
