"""Reductions of consecutive segments, as torch spells them."""
from __future__ import annotations

import numpy as np

from ...ops.segments import NEUTRAL, segment_reduce as reduced
from ...ops.common import wrap_dim
from .bind import call, number
from .reduction import as_int, need_tensor
from ..core.tensor import tensor_from

_NAMES = {"amax": "max", "amin": "min"}


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Each segment of `data` along `axis` reduced by "sum", "mean", "max", "min" or "prod".

    lengths, or offsets (one more than there are segments), have the dimensions of `data` up to `axis`, their last; `initial` is what a
    segment begins with. Looks at the lengths unless `unsafe`. RuntimeError where they do not fit.
    """
    need_tensor("segment_reduce", data, "data")
    d = wrap_dim(as_int("segment_reduce", axis, "axis"), data.ndim)
    reduce = _NAMES.get(reduce, reduce)
    if reduce not in NEUTRAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = lengths if offsets is None else offsets
    name = "lengths" if offsets is None else "offsets"
    if given.ndim > data.ndim:
        raise RuntimeError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.  (Could this error message be improved?  "
                           "If so, please report an enhancement request to PyTorch.)")
    if d != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {d}.")
    if given.is_floating_point() or given.is_complex():
        from ...ops.promotion import c_name
        raise NotImplementedError(f"\"_segment_reduce_{name}_cpu_kernel1\" not implemented for '{c_name(given._ts_meta.dtype)}'")
    if offsets is None:
        a = lengths.detach()._ts_host().astype(np.int64)
        if not unsafe:
            if a.size and a.min() < 0:
                raise RuntimeError("lengths contains negative value!")
            if (a.sum(-1) != data.shape[d]).any():
                raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                                   "!unsafe.")
        offsets = tensor_from(np.concatenate([np.zeros(a.shape[:-1] + (1,), np.int64), np.cumsum(a, -1)], -1), data._ts_meta.device)
    elif not offsets.shape[-1]:
        raise RuntimeError("Trying to create tensor with negative dimension -1: [-1]")
    return call(reduced, (data, offsets.long(), reduce, None if initial is None else float(number(initial))))


_segment_reduce = segment_reduce               # the name that libraries use
