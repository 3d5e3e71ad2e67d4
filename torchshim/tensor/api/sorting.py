"""Sorting and searching as torch's overloads spell them; `unique`, whose shapes depend on the data."""
from __future__ import annotations

import numpy as np

from ...engine import contiguous_strides, present
from ...ops import promotion as P
from ...ops import sorting as S
from ...ops.common import wrap_dim
from .bind import call, expect_not, function, into, number
from .creation import scalar_tensor, tensor
from .picking import in_range
from ..core import settings
from ..core.dtype import FROM_NP
from ..core.handle import TensorBase, read
from ..core.memory_format import batched
from ..core.write import born_written
from .reduction import as_int, need_tensor
from .signatures import ask_parser
from .undefined import undefined
from ..core.tensor import tensor_from


@function()
def msort(input, *, out=None):
    """The elements in order along the first dimension."""
    made = call(S.sort, (need_tensor("msort", input), 0, False))[0]
    return made if out is None else into(out, made, "msort", (input,))


def _quantile(name, ignore_nan):
    def out_of_range():
        return RuntimeError(f"{name}() q values must be in the range [0, 1]")

    def f(input, q, dim=None, keepdim=False, *, interpolation="linear", axis=None, keepdims=None, out=None):
        if not need_tensor(name, input).numel():
            raise RuntimeError("quantile() input tensor must be non-empty")
        n = number(q)
        if n is not None:
            if not 0 <= n <= 1:
                raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {n:g}")
            q = scalar_tensor(n, dtype=input.dtype if input.is_floating_point() else None, device=input.device)
        else:
            known = present(read(need_tensor(name, q, "q", 2))).array
            if known is not None and hasattr(known, "__array__") and not batched(q) and q.ndim < 2:
                a = np.asarray(known)
                if a.size and not ((a >= 0) & (a <= 1)).all():
                    raise out_of_range()
            elif q.ndim < 2:
                expect_not(S.OUTSIDE_UNIT, read(q), out_of_range)
        if interpolation != "linear" and q.requires_grad:          # it only picks
            q = q.detach()
        made = call(S.quantile, (input, q, dim if axis is None else axis, keepdim if keepdims is None else keepdims, interpolation,
                                 ignore_nan))
        if out is not None:
            return into(out, made, name)
        return born_written(made, (3 if q.ndim else 1) + (interpolation in ("linear", "midpoint")))
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{name}(input, q, dim=None, keepdim=False, *, interpolation='linear')."
    return function(name)(f)


quantile, nanquantile = _quantile("quantile", False), _quantile("nanquantile", True)


# -- searching --------------------------------------------------------------------------------------------------------------
@function(method=False)
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Where the elements of `input` belong in sorted sequences."""
    need_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    n = number(input)
    m = sorted_sequence._ts_meta
    if n is not None:
        if m.ndim != 1:
            raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                               f"boundaries tensor dim({m.ndim}) and input value's dim(0) numel(1)")
        input = scalar_tensor(n, dtype=sorted_sequence.dtype if not isinstance(n, float) or P.kind_of(m.dtype) == 2 else None,
                              device=sorted_sequence.device)
    v = need_tensor("searchsorted", input, "self", 2)._ts_meta
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
    if m.ndim != 1 and not v.ndim and v.numel == 1:
        raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
                           f"boundaries tensor dim({m.ndim}) and input value's dim(0) numel(1)")
    if m.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if m.ndim != 1 and (v.ndim != m.ndim or v.shape[:-1] != m.shape[:-1]):
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                           f"and input value tensor must match, but we got boundaries tensor {list(m.shape)} and input value tensor "
                           f"{list(v.shape)}")
    for x, what in ((input, "input value"), (sorted_sequence, "boundary"), (sorter, "sorter")):
        if isinstance(x, TensorBase) and not x._ts_meta.contiguous:
            settings.warn_once(_SCATTERED.format(what))
    if v.dtype != m.dtype:
        common = FROM_NP[P.result_type([x.dtype for x in (m, v) if x.ndim], [x.dtype for x in (m, v) if not x.ndim], ())]
        sorted_sequence, input = sorted_sequence.to(common), input.to(common)
    if sorter is not None:
        if sorter._ts_meta.dtype != P.int64:
            raise RuntimeError("torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
                               f"{P.c_name(sorter._ts_meta.dtype)}")
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                               f"{list(m.shape)}and got sorter tensor {list(sorter.shape)}")
        in_range(sorter, 0, m.shape[-1], lambda _: RuntimeError("torch.searchsorted(): sorter index out of range"))
    if P.kind_of(sorted_sequence._ts_meta.dtype) in (0, 3):
        raise S.unsupported("searchsorted_out_cpu", sorted_sequence._ts_meta)
    made = call(S.searchsorted, (sorted_sequence, input, sorter, bool(right) or side == "right", bool(out_int32)))
    return made if out is None else into(out, made, "searchsorted")


@function(method=False)
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The index of the bucket of each element, between sorted boundaries."""
    need_tensor("bucketize", boundaries, "boundaries", 2)
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def _widest(n):
    """The dtype of a number by itself, which is not rounded to the default one; None for those that are not."""
    return FROM_NP[np.dtype(type(n))] if isinstance(n, (float, complex)) else None


_SCATTERED = ("torch.searchsorted(): {0} tensor is non-contiguous, this will lower the performance due to extra data copy when converting "
              "non-contiguous tensor to contiguous, please use contiguous {0} tensor if possible. This message will only appear once per program.")


@function(method=False)
def isin(elements=None, test_elements=None, *, assume_unique=False, invert=False, out=None, element=None, test_element=None):
    """Whether each element is among `test_elements`; either may be a number, then called `element` or `test_element`."""
    a, b = element if elements is None else elements, test_element if test_elements is None else test_elements
    if number(a) is not None and number(b) is not None or not all(isinstance(x, TensorBase) or number(x) is not None for x in (a, b)):
        raise TypeError(f"isin() received an invalid combination of arguments - got ({type(a).__name__}, {type(b).__name__})")
    if number(a) is not None:
        a = tensor(a, dtype=_widest(a), device=b.device)
    elif number(b) is not None:
        b = tensor(b, dtype=_widest(b), device=a.device)
    for x in (a, b):
        if P.kind_of(x._ts_meta.dtype) in (0, 3):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {P.c_name(x._ts_meta.dtype)}")
    made = call(S.isin, (a, b, bool(invert)))
    return made if out is None else into(out, made, "isin")


# -- distinct elements --------------------------------------------------------------------------------------------------------
def _host(x):
    """(array whose order is torch's, how to make a tensor of it again)."""
    a = x.detach()._ts_host()
    key = a.astype(np.float32) if a.dtype.kind == "V" or P.kind_of(a.dtype) == 2 and a.dtype.kind != "f" else a

    def back(r, d=0):
        """A tensor of the array `r`, which lies in memory as torch's does: dimension `d` outermost."""
        r = np.ascontiguousarray(r.astype(a.dtype, copy=False))
        order = [d] + [k for k in range(r.ndim) if k != d]
        strides = contiguous_strides([r.shape[k] for k in order])
        return tensor_from(r, x._ts_meta.device, tuple([strides[order.index(k)] for k in range(r.ndim)]) if d else None)
    return key, back


def _refuse_complex(kernel, x):
    if P.kind_of(x._ts_meta.dtype) == 3:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(x._ts_meta.dtype)}'")


def _answer(values, inverse, counts, return_inverse, return_counts, source, name, what):
    values = undefined(values, (source,), name, NotImplementedError(f"the derivative for '{what}' is not implemented."))
    made = (values,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return made[0] if len(made) == 1 else made


def _rows(a, d):
    """The slices of `a` along `d` as rows of a matrix."""
    return np.moveaxis(a, d, 0).reshape(a.shape[d], -1 if a.size else 0)


def _long(a, like, shape=None):
    a = np.ascontiguousarray(a, dtype=np.int64)
    return tensor_from(a if shape is None else a.reshape(shape), like._ts_meta.device)


def _check_dim(name, x, dim):
    d = wrap_dim(as_int(name, dim), x.ndim)
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not x.numel() and any(n == 0 for i, n in enumerate(x.shape) if i != d):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return d


@function()
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in order, or the distinct slices along `dim`. Looks at the data."""
    need_tensor("unique", input)
    if not sorted.__class__ is return_inverse.__class__ is return_counts.__class__ is bool or dim.__class__ not in (int, type(None)):
        flags = dict(sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
        ask_parser("_unique2", (input,), flags) if dim is None else ask_parser("unique_dim", (input, dim), flags)
    _refuse_complex("unique" if dim is None else "unique_dim", input)
    a, back = _host(input)
    if dim is None:
        values, inverse, counts = _distinct(a.reshape(-1), return_inverse)
        inverse = _long(inverse, input, a.shape) if return_inverse else None
        return _answer(back(values), inverse, _long(counts, input), return_inverse, return_counts, input, "Unique2Backward0", "_unique2")
    d = _check_dim("unique", input, dim)
    rows = _rows(a, d)
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    if rows.dtype.kind == "f" and np.isnan(rows).any():
        order = _as_torch_sorts(rows)
    first, group, counts = _runs(rows[order])
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = group
    return _answer(back(np.take(a, order[first], axis=d), d), _long(inverse, input), _long(counts, input), return_inverse,
                   return_counts, input, "UniqueDimBackward0", "unique_dim")


def _distinct(a, return_inverse):
    """(distinct elements of a vector in order, which of them each element is or None, how often each occurs)."""
    # NumPy's sort alone is twenty times faster than one that says where things were, but mixes the two zeros
    if return_inverse or a.dtype.kind not in "iubf" or a.dtype.kind == "f" and (np.signbit(a) & (a == 0)).any():
        return np.unique(a, return_inverse=True, return_counts=True, equal_nan=False)
    a = np.sort(a)
    first = np.flatnonzero(np.concatenate([np.ones(min(a.size, 1), bool), a[1:] != a[:-1]]))
    return a[first], None, np.diff(first, append=a.size)


class _Row(tuple):
    """Numbers one of which decides, the first that is less or greater: a nan is neither."""
    __slots__ = ()

    def __lt__(self, other):
        for a, b in zip(self, other):
            if a < b:
                return True
            if a > b:
                return False
        return False


class _Places(list):
    """A list without elements before its first one."""
    __slots__ = ()

    def __getitem__(self, i):
        if i.__class__ is int and i < 0:
            raise IndexError
        return list.__getitem__(self, i)


def _as_torch_sorts(rows):
    """The order in which std::sort leaves rows with nans, where `<` is no order."""
    from ...engine.interpret import orders
    order = _Places(range(len(rows)))
    try:
        orders.sort(order, list(map(_Row, rows.tolist())), len(order))
    except IndexError:                         # it reads memory beyond its own
        raise NotImplementedError("torchshim: unique along a dimension, of slices with nans that torch's sort runs away from") from None
    return np.array(order)


def _runs(rows):
    """(first row of each run of equal rows, run of each row, lengths)."""
    if not len(rows):
        none = np.zeros(0, np.int64)
        return none, none, none
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    first = np.flatnonzero(new)
    return first, np.cumsum(new) - 1, np.diff(np.append(first, len(rows)))


@function()
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements, or of equal slices along `dim`. Looks at the data."""
    need_tensor("unique_consecutive", input)
    if not return_inverse.__class__ is return_counts.__class__ is bool:
        ask_parser("unique_consecutive", (input,), dict(return_inverse=return_inverse, return_counts=return_counts, dim=dim))
    _refuse_complex("unique" if dim is None or dim == 0 and input.ndim == 1 else "unique_dim", input)
    a, back = _host(input)
    d = None if dim is None else _check_dim("unique_consecutive", input, dim)
    rows = a.reshape(-1, 1) if d is None else _rows(a, d)
    first, group, counts = _runs(rows)
    values = back(a.reshape(-1)[first]) if d is None else back(np.take(a, first, axis=d), d)
    return _answer(values, _long(group, input, a.shape if d is None else None), _long(counts, input), return_inverse, return_counts, input,
                   "UniqueConsecutiveBackward0", "unique_consecutive")
