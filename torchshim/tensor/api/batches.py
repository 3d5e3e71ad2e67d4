"""What views of an example are where vmap looks at a batch of them: torch counts in the memory of the batch."""
from __future__ import annotations

import numpy as np

from ...engine import TRACED, context
from ...ops import memory_views
from ..core.handle import meta, offset_of


def window_in_batch(t, size, stride, at, given):
    """Where a window on an example of a batch begins in that example; torch counts `given` offsets in the memory of the batch."""
    start = _start_in_batch(t)
    if len(size) != len(stride):
        raise RuntimeError(f"Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size {list(size)} and "
                           f"stride {list(stride)}")
    m, first, root = meta(t), offset_of(t), t._ts_st.value.meta
    at -= start if given else 0
    end, last = [k + 1 + sum([(n - 1) * s for n, s in zip(ns, ss)]) for k, ns, ss in ((first, m.shape, m.strides), (at, size, stride))]
    if all(size) and not first <= at <= last <= end:
        raise RuntimeError(f"result = tensor.as_strided({list(size)}, {list(stride)}, {at + start}) can access memory outside of `tensor`. "
                           f"`result` can access some memory in range [{at + start}, {last + start}], but `tensor` can only access some "
                           f"memory in range [{first + start}, {end + start}]. This is not supported inside of vmap, please try to rewrite "
                           "the `as_strided` call as a sequence of PyTorch view operations")
    if all(size) and not root.contiguous and not np.isin(
            memory_views.places_of(size, stride, at), memory_views.places_of(root.shape, root.strides, 0)).all():
        raise NotImplementedError("as_strided under vmap that reads what lies between the elements of an example")
    return at


def _start_in_batch(t):
    """Where the memory of an example begins in that of its batch."""
    for level in reversed(context.modes["transform"]):
        for example, batch in zip(level.ins, level.given):
            if example._ts_st is t._ts_st:
                return offset_of(batch) + (_start_in_batch(batch) if batch._ts_st.value.extra is TRACED else 0)
    return 0


def refuse_of_number(t, dim):
    """torch's error for dimensions of a number in a batch: it takes 0 alone."""
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    if t._ts_st.value.extra is TRACED and context.modes["transform"][-1].kind == "vmap" and any([d != 0 for d in dims]):
        raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got {list(dims)}")
