"""What a mask picks, and the places of what is not zero."""
from __future__ import annotations

import numpy as np

from ...engine import TRACED, context, known, present, record, warn
from ...ops import index as I
from ...ops import promotion as P
from ...ops.layout import broadcast_shapes
from ...ops.registry import T
from .bind import function, type_name
from ..core.device import same_device
from ..core.handle import TensorBase, edge, look, meta, read
from ..core.write import check_inplace, needs_grad, refuse_overlap
from .index import forms, packed, run, same_place, warn_of_expanded
from .indexing import expand_check, written
from .picking import flag, host_known, picked
from ..core.tensor import tensor_from
from .views import expanded, swap


def _masked_fill(inplace, self, mask, value):
    """One value where the mask is true."""
    m = meta(self)
    if inplace:
        I._check_mask(m, meta(mask))
    else:
        edge(self)                             # a view that lost its history says so before anything else
    shape = broadcast_shapes([m.shape, meta(mask).shape] if inplace else [meta(mask).shape, m.shape])
    if not inplace:
        I._check_mask(m, meta(mask))
    if inplace and shape != m.shape:
        raise RuntimeError(f"output with shape {list(m.shape)} doesn't match the broadcast shape {list(shape)}")
    if inplace:
        warn_of_expanded("masked_fill_", m)
        refuse_overlap(self, (mask,), "part")
    mask = same_place(self, mask)
    if isinstance(value, TensorBase):
        vm = meta(value)
        if vm.ndim:
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {vm.ndim} dimension(s).")
        if vm.dtype != m.dtype and P.kind_of(vm.dtype):
            narrows = P.kind_of(vm.dtype) == 3 and P.kind_of(m.dtype) in (1, 2)
            there = value.item() if narrows else known(read(value))       # one that is not computed yet is not waited for else
            if there is not None:
                n = there if narrows else np.asarray(there).item()
                P.refuse_beyond(n.real, m.dtype, narrows and n.imag != 0)
        fill = lambda: run(I.MASKED_FILL_TENSOR, (self, mask, same_place(self, value)), (T, T, T), inplace, overlap="fill")
    else:
        token, nums, kinds = packed(value, m, "masked_fill")
        fill = lambda: run(I.MASKED_FILL, (self, mask), (T, T, token), inplace, nums, kinds, "fill")
    if inplace and not m.contiguous and meta(mask).dtype == np.bool_:
        return written(self, (expanded(mask, m.shape),), (T,), value, False, fill)
    return fill()


forms("masked_fill", _masked_fill, out=True)


@function("masked_select", out=True)
def masked_select(input, mask):
    """The elements where the mask is true, in one dimension."""
    m, mm = meta(input), meta(mask)
    edge(input)
    if mm.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    same_device(m.device, mm.device)
    shape = broadcast_shapes([mm.shape, m.shape])
    chosen = np.flatnonzero(np.broadcast_to(np.asarray(look(mask)), shape))
    return picked(I.MASKED_SELECT, (input, mask, tensor_from(chosen, m.device)), (T, T, T, shape))


_SMALL = 2048              # elements of a mask that are looked at for the error to come at the call; of a larger one it comes at the next look


def _masked_scatter(inplace, self, mask, source):
    """The elements of `source`, one after the other, where the mask is true."""
    m, mm, sm = meta(self), meta(mask), meta(source)
    if not inplace:
        edge(self)
        shape = broadcast_shapes([mm.shape, m.shape])
    else:
        refuse_overlap(self)
    if sm.dtype != m.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got" + P.c_name(m.dtype) + " and "
                           + P.c_name(sm.dtype))
    if inplace:
        expand_check(mm, m)
        shape = m.shape
    if mm.dtype == np.uint8:
        warn("masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask with dtype "
             "torch.bool instead.")
    if mm.dtype != np.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {P.c_name(mm.dtype)}")
    n = sm.numel
    error = lambda _=None: RuntimeError("Number of elements of source < number of ones in mask")
    repeats = 1
    for a in shape:
        repeats *= a
    repeats = repeats // mm.numel if mm.numel else 0
    if n < mm.numel * repeats:
        if host_known(present(mask._ts_st.value)) or mm.numel <= _SMALL and read(mask).extra is not TRACED:
            if int(np.count_nonzero(look(mask))) * repeats > n:
                if inplace:                    # what there is has been written by then, which no history and no count knows of
                    if needs_grad(self) or needs_grad(source):
                        check_inplace(self, True)
                    chosen = np.broadcast_to(np.asarray(look(mask)), shape)
                    self.data.masked_scatter_(tensor_from(chosen & (np.cumsum(chosen).reshape(shape) <= n), m.device), source.detach())
                raise error()
        else:
            v = read(mask)
            if v.extra is not TRACED:
                flag(record(context, I.MORE_THAN, (T, n // max(repeats, 1)), (v,))[0], v, error)
    return run(I.MASKED_SCATTER, (self, mask, source), (T, T, T), inplace, overlap=None)


forms("masked_scatter", _masked_scatter)


def nonzero_places(input):
    """Host arrays of the places of the nonzero elements."""
    if meta(input).device == "meta":
        raise NotImplementedError("nonzero on the meta device: the result's shape depends on data")
    return np.nonzero(np.atleast_1d(input._ts_host()))


@function("nonzero", out=True)
def nonzero(input, *, as_tuple=False):
    """Where the elements are not zero: one row for each, or one tensor for each dimension."""
    if as_tuple.__class__ is not bool:
        raise TypeError(f"nonzero(): argument 'as_tuple' must be bool, not {type_name(as_tuple)}")
    m = meta(input)
    at = nonzero_places(input)
    if as_tuple:
        return tuple([tensor_from(a.astype(np.int64), m.device) for a in at])
    if not m.ndim or not at[0].size:
        return tensor_from(np.zeros((at[0].size, m.ndim), np.int64), m.device, (1, at[0].size))
    rows = np.stack(at)
    return swap(tensor_from(rows.astype(np.int64), m.device), 0, 1)


@function("nonzero_static", out=True)
def nonzero_static(input, *, size, fill_value=-1):
    """`nonzero` with a fixed number of rows: cut off, or filled up."""
    m = meta(input)
    at = nonzero_places(input)
    rows = np.stack(at, 1) if m.ndim else np.zeros((at[0].size, 0), np.int64)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    out = np.full((size, m.ndim), fill_value, np.int64)
    out[:min(size, rows.shape[0])] = rows[:size]
    return tensor_from(out, m.device)


@function("argwhere")
def argwhere(input):
    """Where the elements are not zero, one row for each."""
    return nonzero(input)
