"""A view of each example as one view of the batch: what a step of a view is under vmap."""
from __future__ import annotations

import jax
import numpy as np

from ..engine import meta_of
from .memory_views import as_strided, view_as_complex, view_as_real
from .views import ViewOp, unfold


def _get(base, inst, shape, dtype, strides, *nums):
    return jax.vmap(lambda x: inst.fn(x, *nums)[0])(base)


def _put(own, base, value, inst, shape, dtype, strides, *nums):
    return jax.vmap(lambda x, v: inst.op.view.put(inst, x, v, nums))(base, value)


def _host(base, inst, shape, dtype, strides, *nums):
    one = np.asarray(inst.op.on_host(inst)(base[0, ...], *nums)[0]) if len(base) else None
    if one is None or not np.may_share_memory(one, base):
        return np.stack([inst.op.on_host(inst)(x, *nums)[0] for x in base]) if len(base) else np.empty((0, *shape), dtype)
    return np.lib.stride_tricks.as_strided(one, (len(base), *one.shape), (base.strides[0], *one.strides))


def _place(m, inst, shape, dtype, strides):
    return (m.shape[0], *shape), dtype, (m.strides[0] * m.dtype.itemsize // dtype.itemsize, *strides)


class BatchedView(ViewOp):
    """Arguments: the view's Instance for an example, and the shape, dtype and strides of what an example becomes."""

    def on_host(self, inst):
        return super().on_host(inst) if inst.layout[0].op.on_host(inst.layout[0]) else None


batched_view = BatchedView("batched_view", _get, _place, _put, _host)
_SAME_BEGINNING = (unfold, view_as_real, view_as_complex)      # which NumPy has not


def place(m, inst, nums):
    """(shape, dtype, strides, offset) of the view `inst` of an example in a batch that lies as `m` says; None where it is no view of that
    memory. NumPy is asked, with memory that nobody touches."""
    if inst.op in _SAME_BEGINNING:
        return *inst.op.place(meta_of(m.shape[1:], m.dtype, m.device, m.strides[1:]), *inst.layout[:-1]), 0
    if inst.op is batched_view:                # of the examples of an example
        inner = meta_of(m.shape[1:], m.dtype, m.device, m.strides[1:])
        found = place(inner, inst.layout[0], nums)
        return found and (*_place(inner, None, *found[:3]), found[3])
    if inst.op is as_strided:
        size, stride, offset, seen = inst.layout[:4]
        return (size, m.dtype, stride, offset) if m.strides[1:] == seen.strides and m.shape[1:] == seen.shape else None
    if inst.op.on_host(inst) is None:
        return None
    out, size = inst.out, m.dtype.itemsize
    if not m.numel:
        return out.shape, out.dtype, out.strides, 0
    memory = np.empty(1 + sum([(n - 1) * s for n, s in zip(m.shape, m.strides)]), m.dtype)
    example = np.lib.stride_tricks.as_strided(memory, m.shape[1:], [s * size for s in m.strides[1:]])
    seen = np.asarray(inst.op.on_host(inst)(example, *nums)[0])
    if seen.size and not np.may_share_memory(seen, memory):
        return None
    offset = (seen.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // size
    return out.shape, out.dtype, tuple([s // size for s in seen.strides]), offset
