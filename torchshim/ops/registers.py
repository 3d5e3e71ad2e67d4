"""Sums of half numbers of which one has a factor, rounded where torch's kernels for CPUs round: whole registers once, and what is left over
of a row at the product, too. The factor itself is a half number there."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from ..engine import is_host, meta_of
from . import promotion as P
from .casts import short
from .layout import broadcast_shapes, elementwise_strides, kept_strides
from .registry import common_of

_LANES = 32                                    # of two registers, which torch's loops take at once


def summed(metas, numbers, sign):
    """A body in place of `self + sign * alpha * other` for operands with these metas and the tokens of numbers; None where that is rounded
    once: other dtypes than half ones, other devices than the host."""
    if not metas or not is_host(metas[0].device):
        return None
    common = common_of(metas, numbers)
    if common not in (P.bfloat16, P.float16):
        return None
    try:
        shape = broadcast_shapes([m.shape for m in metas])
    except RuntimeError:
        return None                            # refused where all are told so
    lie = [m if m.dtype == common else meta_of(m.shape, m.dtype, m.device, kept_strides(m)) for m in metas]
    return _body(common, sign, _row(lie, shape, bool(numbers)))


def _row(metas, shape, number):
    """The dimensions, the outermost first, that an elementwise kernel takes as one row of memory; None where it takes no registers."""
    rows = [[0 if i < 0 or m.shape[i] == 1 else m.strides[i] for i in range(m.ndim - len(shape), m.ndim)]
            for m in metas]
    made = elementwise_strides(metas, shape, number) or meta_of(shape, metas[0].dtype, metas[0].device).strides
    rows, found, before, size = [made, *rows], [], (), 1
    for d in sorted([d for d in range(len(shape)) if shape[d] != 1], key=lambda d: made[d]):
        steps = [r[d] for r in rows]
        if not found and (set(steps) - {0, 1} or steps[0] != 1 or steps.count(0) > 1 - number):
            return None
        if found and steps != [size * step for step in before]:
            break
        found.insert(0, d)
        before, size = steps, shape[d]
    return tuple(found)


@functools.cache
def _body(half, sign, row):
    @jax.custom_jvp
    def plus(x, y, alpha):
        registers = False if row is None else in_registers(jnp.broadcast_shapes(x.shape, y.shape), row)
        return product_added(x, y, short(alpha * sign, half), half, registers)

    @plus.defjvp
    def jvp(primals, tangents):                # which multiply by the factor as it was given
        (x, y, alpha), (dx, dy, _) = primals, tangents
        return plus(x, y, alpha), dx + short(dy * (alpha * sign), half)
    return plus


@functools.cache
def turned(body):
    """The same, called with the second operand first."""
    return lambda y, x, alpha: body(x, y, alpha)


def product_added(x, y, alpha, half, registers):
    """x + y * alpha of wide arrays that hold half numbers; `registers`: where it is rounded but once."""
    product = y * alpha
    return short(x + jnp.where(registers, product, short(product, half)), half)


def in_registers(shape, row):
    """Which elements of a row, made of these dimensions, the outermost first, fill whole registers."""
    n = math.prod([shape[d] for d in row])
    filled = (jnp.arange(n) < n // _LANES * _LANES).reshape([shape[d] for d in row])
    filled = filled.transpose([row.index(d) for d in sorted(row)])
    return filled.reshape([shape[d] if d in row else 1 for d in range(len(shape))])
