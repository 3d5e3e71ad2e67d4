"""gather, scatter and their relatives: checks, overloads and in-place forms on top of `ops.index`."""
from __future__ import annotations

import numpy as np

from ...engine import context, warn
from ...ops import index as I
from ...ops import promotion as P
from ...ops.common import wrap_dim
from ...ops.layout import broadcast_shapes
from ...ops.registry import PACKED, T
from .bind import FUNCTIONS, function, number, pack, type_name
from ..core.dispatch import apply
from ..core.graph import forward_only, node_class
from ..core.handle import TensorBase, edge, meta, offset_of
from ..core.in_turn import rows_alone
from ..core.memory_format import batched
from ..core.settings import alert_nondeterministic
from ..core.write import CopySlices, apply_inplace, born_written, leaves_first, refuse_overlap, refuse_together
from .looked_up import looked_up
from .indexing import UINT8_MASK, _check_put, _index_list, _is_mask, put_values
from .picking import in_range, picked
from .shape import filler, ints
from .slicing import select, sliced
from .views import expanded, integer, memory_of, refuse_outside, view, warn_once


def run(op, tensors, layout, inplace, nums=(), kinds="", overlap="indexed", turns=None):
    """The operator, or its in-place form into the first tensor."""
    if inplace:
        if overlap == "put" and turns is None:
            refuse_together(op.name, tensors[0])
        return apply_inplace(op.inplace_op, tensors, layout, nums, kinds, overlap=overlap, turns=turns)
    return apply(op, tensors, layout, nums, kinds)


_LOOKED_UP = frozenset("scatter scatter_add scatter_reduce index_add index_copy index_fill index_put masked_fill".split())


def forms(name, f, out=False, method=True):
    """Register f(inplace, self, ...) as `name`, and as `name_`."""
    def plain(input, *args, **kwargs):
        return f(False, input, *args, **kwargs)

    def inplace(input, *args, **kwargs):
        with leaves_first(input, *args, *kwargs.values()):
            return f(True, input, *args, **kwargs)
    for g, n in ((plain, name), (inplace, name + "_")):
        g.__name__ = g.__qualname__ = n
        g.__doc__ = f.__doc__
    function(name, out=out, method=method)(looked_up(plain) if name in _LOOKED_UP else plain)
    function(name + "_", method=method, torch=name in ("index_put", "masked_fill"))(inplace)


def same_place(t, x):
    """A number in a tensor of any device, where `t` is."""
    return x if meta(x).device is meta(t).device or meta(x).ndim else x.to(device=t.device)


_LARGEST_HALVES = {P.float16: 65504, P.bfloat16: 3.3895313892515355e38}


def packed(value, m, name):
    """A number for a tensor like `m`: (token, packed numbers, kinds)."""
    largest = _LARGEST_HALVES.get(m.dtype)                # unlike fill_, these refuse what becomes infinite
    if largest is not None:
        n = number(value)
        if n is not None and (n.imag != 0 or abs(n.real) > largest and n - n == 0):
            raise RuntimeError(f"value cannot be converted to type {P.cpp_name(m.dtype)} without overflow")
    nums = []
    token = pack(filler(value, m, name), nums)
    return token, nums, PACKED[token]


def warn_of_expanded(name, m):
    """torch's warning where a fill writes one element several times."""
    if not m.contiguous and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
             "applies to advanced indexing e.g. tensor[mask] = scalar")


def _dimensioned(m, dim):
    if not m.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


_LONG_OR_INT = frozenset((np.dtype(np.int64), np.dtype(np.int32)))


def _index_type(index, name):
    if not isinstance(index, TensorBase):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type_name(index)}")
    if meta(index).dtype not in _LONG_OR_INT and meta(index).numel:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _within_rows(index, m, d):
    """As `_within`, in the words that torch has for single elements and for rows of them."""
    if m.ndim > 1:
        _within(index, m.shape[d], d)
    else:
        in_range(index, 0, m.numel, lambda i: IndexError("index out of range in self"))


def _within(index, n, d, kind=RuntimeError, prefix=""):
    in_range(index, 0, n, lambda i: kind(f"{prefix}index {i} is out of bounds for dimension {d} with size {n}"))


# -- along a dimension ------------------------------------------------------------------------------------------------------
@function("gather", out=True)
@looked_up
def gather(input, dim, index, *, sparse_grad=False):
    """The elements that `index` names along a dimension."""
    if sparse_grad.__class__ is not bool:
        raise TypeError("gather(): argument 'sparse_grad' must be bool")
    m = meta(input)
    edge(input)                                # a view that lost its history says so before anything else
    d = wrap_dim(integer(dim, "gather", "dim"), m.ndim)
    _index_type(index, "gather")
    im = meta(index)
    if im.numel:
        if max(im.ndim, 1) != max(m.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
        for k, (n, s) in enumerate(zip(im.shape, m.shape)) if im.shape != m.shape else ():
            if k != d and n > s:
                raise RuntimeError(f"Size does not match at dimension {k} expected index {list(im.shape)} to be no larger than self "
                                   f"{list(m.shape)} apart from dimension {d}")
        _within(index, m.shape[d] if m.ndim else 1, d)
    elif im.dtype.kind != "i":                 # of nothing any dtype will do
        index = index.long()
    return picked(I.GATHER, (input, index), (T, d, T))


def _place_in(inplace, name, t, dim):
    """The dimension to write along; a view that lost its history says so first, unless it is written itself."""
    if not inplace:
        edge(t)
    return wrap_dim(integer(dim, name, "dim"), meta(t).ndim)


def _check_scatter(name, t, d, index, src):
    m, im = meta(t), meta(index)
    _index_type(index, name)
    if src is not None and not isinstance(src, TensorBase):
        raise TypeError(f"{name}(): argument 'src' (position 4) must be Tensor, not {type_name(src)}")
    if src is not None and meta(src).dtype != m.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if not im.numel:
        return
    sm = meta(src) if src is not None else None
    if max(im.ndim, 1) != max(m.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    bad = im.shape != m.shape and any([n > s for k, (n, s) in enumerate(zip(im.shape, m.shape)) if k != d])
    if sm is not None and im.shape != sm.shape:
        if not bad:                            # torch looks at the sizes before it compares how many there are
            size = im.shape or (1,)
            short = sm.shape if sm.ndim else (1,) * len(size)
            bad = any([n > s for n, s in zip(size, short)])
            if not bad and len(short) < len(size):
                raise IndexError(f"Dimension out of range (expected to be in range of [{-sm.ndim}, {sm.ndim - 1}], but got {sm.ndim})")
        if max(im.ndim, 1) != max(sm.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if bad:
        tail = f" and to be no larger size than src {list(sm.shape)}" if sm is not None else ""
        raise RuntimeError(f"Expected index {list(im.shape)} to be no larger than self {list(m.shape)} apart from dimension {d}{tail}")
    _within(index, m.shape[d] if m.ndim else 1, d)


def _scatter(inplace, self, dim, index, src=None, *, value=None, reduce=None):
    """Values written at the places that `index` names along a dimension."""
    m = meta(self)
    d = _place_in(inplace, "scatter", self, dim)
    if src is None:
        src = value
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, TensorBase):
        _check_scatter("scatter", self, d, index, src)
        if reduce is not None:
            warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. "
                      "Use torch.scatter_reduce instead for more reduction options.")
            return run(I.SCATTER_OLD, (self, index, src), (T, d, T, T, reduce), inplace)
        return run(I.SCATTER, (self, index, src), (T, d, T, T), inplace)
    _check_scatter("scatter", self, d, index, None)
    token, nums, kinds = packed(src, m, "scatter")
    if reduce is not None:
        return run(I.SCATTER_OLD_NUMBER, (self, index), (T, d, T, token, reduce), inplace, nums, kinds)
    return run(I.SCATTER_NUMBER, (self, index), (T, d, T, token), inplace, nums, kinds)


forms("scatter", _scatter, out=True)


def _scatter_add(inplace, self, dim, index, src):
    """Values added at the places that `index` names along a dimension."""
    d = _place_in(inplace, "scatter_add", self, dim)
    _check_scatter("scatter", self, d, index, src)
    return run(I.SCATTER_ADD, (self, index, src), (T, d, T, T), inplace)


forms("scatter_add", _scatter_add, out=True)


def _scatter_reduce(inplace, self, dim, index, src, reduce, *, include_self=True):
    """Values reduced into the places that `index` names: sum, prod, mean, amax or amin."""
    d = _place_in(inplace, "scatter_reduce", self, dim)
    reduce = reduce.decode() if isinstance(reduce, bytes) else reduce
    if reduce not in I.HOW:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_scatter("scatter", self, d, index, src)
    if P.kind_of(meta(self).dtype) == 3 and reduce in ("amax", "amin") or meta(self).dtype == np.bool_ and reduce == "mean":
        kernel = f"scatter_gather_tensor_cpu_reduce_{reduce}" if meta(index).numel else "div_floor_cpu" if reduce == "mean" else None
        if kernel is not None:
            raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(meta(self).dtype)}\'')
        reduce = "sum"                         # of nothing, with what is there
        include_self = True
    return run(I.SCATTER_REDUCE, (self, index, src), (T, d, T, T, reduce, include_self), inplace)


forms("scatter_reduce", _scatter_reduce, out=True)


# -- whole slices -----------------------------------------------------------------------------------------------------------
@function("index_select", out=True)
def index_select(input, dim, index):
    """The slices that a 1-d index names."""
    m, im = meta(input), meta(index)
    edge(input)                                # a view that lost its history says so before anything else
    d = wrap_dim(integer(dim, "index_select", "dim"), m.ndim)
    if im.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if im.dtype not in _LONG_OR_INT:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not m.ndim and im.numel != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {im.numel} value(s)")
    n = m.shape[d] if m.ndim else 1
    if m.numel and d == 0:                     # torch has two kernels, and each its words
        in_range(index, 0, n, lambda i: IndexError("index out of range in self"))
    elif m.numel:
        in_range(index, 0, n, lambda i: RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={n}"))
    elif im.numel:
        if not n:
            if m.ndim == 1:
                raise IndexError("index out of range in self")
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        in_range(index, 0, n, lambda i: RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={n}"))
    return picked(I.INDEX_SELECT, (input, index), (T, d, T))


def _fitting(name, self, d, index, source):
    """Refuse an index and a source that do not fit, for index_add and index_reduce; the metas of `self` and `source`."""
    m, im, sm = meta(self), meta(index), meta(source)
    if im.ndim > 1:
        raise IndexError(f"{name}_(): Index is supposed to be a vector, but got dim: {im.ndim} with type: {P.c_name(im.dtype)} and size: "
                         f"{list(im.shape)}")
    if im.dtype not in _LONG_OR_INT:
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {P.c_name(im.dtype)}")
    if sm.dtype != m.dtype:
        raise RuntimeError(f"{name}_(): self ({P.c_name(m.dtype)}) and source ({P.c_name(sm.dtype)}) must have the same scalar type")
    n = (sm.shape[d] if d < sm.ndim else 1) if sm.ndim else 1
    if im.numel != n and not sm.ndim:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    if im.numel != n:
        raise RuntimeError(f"{name}_(): Number of indices ({im.numel}) should be equal to source.size(dim): ({n}), for dim: {d}")
    if m.ndim and sm.ndim:
        differ = [k for j, k in enumerate(m.shape) if j != d] != [k for j, k in enumerate(sm.shape) if j != d]
    else:
        differ = m.shape != sm.shape
    if differ:
        raise RuntimeError(f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                           f"{list(m.shape)} source.shape = {list(sm.shape)}")
    return m, sm


def _index_add(inplace, self, dim, index, source, *, alpha=1):
    """Slices added at the places that a 1-d index names."""
    d = _place_in(inplace, "index_add", self, dim)
    m, sm = _fitting("index_add", self, d, index, source)
    if sm.numel and not m.numel and m.ndim > 1:            # nothing is added, wherever the index leads; vectors have a kernel of their own
        source = source.narrow(d, 0, 0)
        index = index.reshape(-1)[:0]
    elif sm.numel:
        _within_rows(index, m, d)
    if alpha == 1 and alpha.__class__ is int:
        return run(I.INDEX_ADD, (self, index, source), (T, d, T, T, 1), inplace)
    token, nums, kinds = packed(alpha.item() if isinstance(alpha, TensorBase) and not alpha.ndim else alpha, m, "index_add")
    return run(I.INDEX_ADD, (self, index, source), (T, d, T, T, token), inplace, nums, kinds)


forms("index_add", _index_add, out=True)


def _index_copy(inplace, self, dim, index, source):
    """Slices written at the places that a 1-d index names."""
    m, sm = meta(self), meta(source)
    d = wrap_dim(integer(dim, "index_copy", "dim"), m.ndim)
    if inplace:
        refuse_overlap(self, (self, index, source), "indexed")     # before the shapes are compared
    im = meta(index)
    if im.ndim >= 2:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {im.ndim})")
    if not sm.ndim and im.numel != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {im.numel})")
    if m.ndim and sm.ndim and m.ndim != sm.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                         f"dimensionality ({sm.ndim}), destination dimensionality ({m.ndim})")
    if im.dtype.name != "int64":
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got " + P.c_name(im.dtype))
    if sm.dtype != m.dtype:
        raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got (self) {P.c_name(m.dtype)} and "
                           f"(source) {P.c_name(sm.dtype)}")
    if [k for j, k in enumerate(m.shape) if j != d] != [k for j, k in enumerate(sm.shape) if j != d]:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
                           f"{' '.join(str(k) for j, k in enumerate(m.shape) if j != d)} at dimension {d} and source slice shape: "
                           f"{' '.join(str(k) for j, k in enumerate(sm.shape) if j != d)} at dimension 0.")
    if sm.ndim and im.numel != sm.shape[d]:
        raise IndexError(f"index_copy_(): Number of indices ({im.numel}) should be equal to source.size(dim) ({sm.shape[d]})")
    if sm.numel:
        if not m.numel:                        # torch looks at it as if there were as much as is written, at one place
            strides = [0 if j == d else s for j, s in enumerate(m.strides)]
            refuse_outside(sm.shape or (1,), strides, offset_of(self) if inplace else 0, m.dtype.itemsize, memory_of(self) if inplace else 0)
        _within(index, m.shape[d] if m.ndim else 1, d, IndexError, "index_copy_(): ")
    return run(I.INDEX_COPY, (self, index, source), (T, d, T, T), inplace)


forms("index_copy", _index_copy, out=True)


def _index_fill(inplace, self, dim, index, value):
    """One value written to the slices that a 1-d index names."""
    m = meta(self)
    d = _place_in(inplace, "index_fill", self, dim)
    if meta(index).dtype != P.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if meta(index).ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    n = m.shape[d] if m.ndim else 1
    if not n and meta(index).numel and 0 not in m.shape[:d] + m.shape[d + 1:]:      # torch sees a row where there is none
        row, item = (*m.shape[:d], meta(index).numel, *m.shape[d + 1:]), m.dtype.itemsize
        strides, at = [0 if k == d else s for k, s in enumerate(m.strides)], offset_of(self) if inplace else 0
        size, room = (1 + at + sum([(k - 1) * s for k, s in zip(row, strides)])) * item, memory_of(self) if inplace else 0
        if size > room:
            raise RuntimeError(f"setStorage: sizes {list(row)}, strides {strides}, storage offset {at}, and itemsize {item} requiring a "
                               f"storage size of {size} are out of bounds for storage of size {room}")
    if m.numel or 0 not in m.shape[:d] + m.shape[d + 1:]:
        in_range(index, -n, n, lambda i: IndexError(f"index {i} is out of bounds for dimension {d} with size {n}"))
    if inplace:
        warn_of_expanded("index_fill_", m)
    turns = rows_alone(self, d, index) if inplace and m.coincident else None
    if P.kind_of(m.dtype) < 3 and (P.kind_of(meta(value).dtype) == 3 if isinstance(value, TensorBase)
                                   else isinstance(number(value), complex)):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if isinstance(value, TensorBase):
        if meta(value).ndim:
            raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {meta(value).ndim} "
                               "dimension(s).")
        return run(I.INDEX_FILL_TENSOR, (self, index, same_place(self, value)), (T, d, T, T), inplace, overlap="put", turns=turns)
    token, nums, kinds = packed(value, m, "index_fill")
    return run(I.INDEX_FILL, (self, index), (T, d, T, token), inplace, nums, kinds, "put", turns)


forms("index_fill", _index_fill, out=True)


_BY_SLICES = {0: {"mean": "div_floor_cpu"}, 3: {"amin": "minimum_cpu", "amax": "maximum_cpu"}}     # the kernels that torch lacks


def _index_reduce(inplace, self, dim, index, source, reduce, *, include_self=True):
    """Slices reduced into the places that a 1-d index names: prod, mean, amax or amin."""
    warn_once("index_reduce() is in beta and the API may change at any time.")
    d = wrap_dim(integer(dim, "index_reduce", "dim"), meta(self).ndim)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    m, _ = _fitting("index_reduce", self, d, index, source)
    _within_rows(index, m, d)
    if P.kind_of(m.dtype) == 3 or m.dtype == np.bool_:
        kernel = "index_reduce_func_exclude_input_init" if not include_self else "index_func_" if m.ndim < 2 else \
            _BY_SLICES[P.kind_of(m.dtype)].get(reduce)             # of slices whole operators make it
        if kernel is not None:
            raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(m.dtype)}\'')
    return run(I.INDEX_REDUCE, (self, index, source), (T, d, T, T, reduce, include_self), inplace)


forms("index_reduce", _index_reduce, out=True)


# -- flat places ---------------------------------------------------------------------------------------------------------------
def _flat_range(t, index):
    n = meta(t).numel
    in_range(index, -n, n, lambda i: IndexError(f"out of range: tried to access index {i} on a tensor of {n} elements."))


@function("take", out=True)
def take(input, index):
    """Elements of the flattened tensor."""
    edge(input)
    if meta(index).dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {P.c_name(meta(index).dtype)}")
    if not meta(input).numel and meta(index).numel:
        raise IndexError("take(): tried to take from an empty tensor")
    _flat_range(input, index)
    return picked(I.TAKE, (input, index), (T, T))


def _put(inplace, self, index, source, accumulate=False):
    """Values written (or added) at places of the flattened tensor."""
    if not accumulate:
        alert_nondeterministic("put_")
    if meta(index).dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {P.c_name(meta(index).dtype)}")
    if meta(self).dtype != meta(source).dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = {P.c_name(meta(self).dtype)} "
                           f"and source.dtype = {P.c_name(meta(source).dtype)}")
    if meta(index).numel != meta(source).numel:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{meta(source).numel}, index.numel() = {meta(index).numel}")
    if inplace:
        refuse_overlap(self)
    if not meta(self).numel and meta(index).numel:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    _flat_range(self, index)
    return run(I.PUT, (self, index, source), (T, T, T, bool(accumulate)), inplace, overlap="put")


forms("put", _put)


@function("take_along_dim", out=True)
@looked_up
def take_along_dim(input, indices, dim=None):
    """`gather` with the tensor and the indices broadcast to each other."""
    m, im = meta(input), meta(indices)
    flat = dim is None
    if flat:
        input, indices, dim = view(input, (m.numel,)), view(indices, (im.numel,)), 0
        m, im = meta(input), meta(indices)
    if m.ndim != im.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                           f"{m.ndim} dimensions for input, and {im.ndim} dimensions for indices")
    if im.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {P.c_name(im.dtype)}")
    d = wrap_dim(integer(dim, "take_along_dim", "dim"), m.ndim)
    _dimensioned(m, d)
    shape = broadcast_shapes([m.shape[:d] + (1,) + m.shape[d + 1:], im.shape[:d] + (1,) + im.shape[d + 1:]])
    own, other = list(shape), list(shape)
    own[d], other[d] = m.shape[d], im.shape[d]
    n = m.shape[d] if m.ndim else 1
    if flat:
        in_range(indices, 0, n, lambda i: RuntimeError(f"index {i} is out of bounds for dimension {d} with size {n}"))
    elif n:
        indices = indices % n                  # as torch does, which so takes every index
    return picked(I.GATHER_EXPANDED, (expanded(input, tuple(own)), expanded(indices, tuple(other))), (T, d, T))


def placed(inplace, self, indices, values, accumulate=False, gaps=False):
    """self[indices] = values, or += with accumulate. `gaps`: None among the indices stands for a whole dimension, as in ATen."""
    if not inplace:
        edge(self)
    if isinstance(indices, TensorBase):
        raise TypeError("index_put(): argument 'indices' (position 1) must be tuple of Tensors, not Tensor")
    picks = {}
    d = 0
    for k, x in enumerate(indices):
        if x is None and gaps:
            d += 1
            continue
        if not isinstance(x, TensorBase):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type_name(x)}")
        if P.kind_of(meta(x).dtype) > 1:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if meta(x).dtype == np.uint8:
            warn(UINT8_MASK)
        picks[d] = x
        d += meta(x).ndim if _is_mask(meta(x)) else 1
    m = meta(self)
    if len(indices) > m.ndim:
        raise IndexError(f"too many indices for tensor of dimension {m.ndim} (got {len(indices)})")
    if d > m.ndim:                             # with the dimensions of masks
        for at, x in picks.items():
            for k, n in enumerate(meta(x).shape if _is_mask(meta(x)) else ()):
                if m.shape[wrap_dim(at + k, m.ndim)] != n:
                    raise IndexError(f"The shape of the mask {list(meta(x).shape)} at index {k} does not match the shape of the indexed "
                                     f"tensor {list(m.shape)} at index {at + k}")
        raise IndexError(f"too many indices for tensor of dimension {m.ndim} (got {d})")
    if not isinstance(values, TensorBase):
        raise TypeError(f"index_put(): argument 'values' (position 2) must be Tensor, not {type_name(values)}")
    if not picks:
        raise RuntimeError("sym_strides() called on an undefined Tensor")
    if len(picks) == 1 and meta(values).numel == 1 and meta(values).ndim < 2 and not accumulate and d == 0:
        # torch fills where a mask of no dimensions says so, which elsewhere stands for a new dimension
        mask, = picks.values()
        return run(I.MASK_PUT, (self, mask, values.to(self.dtype).reshape(())), (T, T, T, 0), inplace, overlap="fill")
    tensors, layout = _index_list(self, picks)
    values = same_place(self, values)
    if len(picks) == 1 and meta(values).numel == 1 and not accumulate:         # torch fills with one value, which asks for a bool mask
        mask, = [meta(x) for x in picks.values()]
        if mask.dtype == np.uint8 and mask.numel > 1:
            I._check_mask(meta(self), mask)
    if len(picks) == 1 and meta(values).numel == 1 and not meta(values).ndim and _is_mask(meta(next(iter(picks.values())))):
        values = values.to(self.dtype)
    if inplace:
        return put_values(self, tensors, layout, values, bool(accumulate))
    _check_put(meta(self), tensors, layout, meta(values))
    return apply(I.INDEX_PUT, [self, *tensors, values], (T, layout, T, bool(accumulate)))


def _index_put(inplace, self, indices, values, accumulate=False):
    """self[indices] = values, or += with accumulate."""
    return placed(inplace, self, indices, values, accumulate)


forms("index_put", _index_put)


# -- a copy with a view of it written ---------------------------------------------------------------------------------------------
def _refuse_integers(out, src):
    """torch's refusal of integers into which something with a gradient is written."""
    if P.kind_of(meta(out).dtype) < 2 and context.grad and src.requires_grad:
        raise RuntimeError(f"Autograd not support dtype: {P.c_name(meta(out).dtype)}")


def _view_scatter(name, view, grad):
    def f(input, src, *args, **kwargs):
        out = input.clone()
        copied = out._ts_edge
        if batched(src) and not batched(input):          # a vmap's examples differ in what is written
            out = FUNCTIONS["where"](src.detach().reshape(-1)[:1].sum() == 0, input, input)
        part = view(out, *args, **kwargs)
        if meta(part).shape != meta(src).shape:
            raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(meta(src).shape)}, slice size = "
                               f"{list(meta(part).shape)}")
        if P.kind_of(meta(out).dtype) == 3 and name != "diagonal_scatter" and (out.requires_grad or context.grad and src.requires_grad):
            raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
        _refuse_integers(out, src)
        part.copy_(src)
        if out._ts_edge is not None and not forward_only(out._ts_edge):
            out._ts_edge.__class__ = node_class(grad, CopySlices)
            if copied is not None:             # the copy is no step of its own
                out._ts_edge._ts_next = tuple([edge(input) if e is copied else e for e in out._ts_edge._ts_next])
        return born_written(out, -1)           # the write above does not count in torch
    f.__name__ = f.__qualname__ = name
    f.__doc__ = "A copy of the tensor with one of its views written."
    view.__qualname__ = name                   # it is what refuses arguments
    function(name, out=name == "slice_scatter")(f)              # the others have none in torch


def _slice(t, dim=0, start=None, end=None, step=1):
    from .indexing import cut
    if not meta(t).ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, meta(t).ndim)
    return sliced(t, d, *cut(slice(start, end, step), meta(t).shape[d]))


_view_scatter("select_scatter", lambda t, dim, index: select(t, dim, index), "SelectScatterBackward0")
_view_scatter("slice_scatter", _slice, "SliceScatterBackward0")
_view_scatter("diagonal_scatter", lambda t, offset=0, dim1=0, dim2=1: FUNCTIONS["diagonal"](t, offset, dim1, dim2),
              "DiagonalScatterBackward0")


@function("as_strided_scatter", out=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of the tensor with a window on its memory written."""
    m, size, stride = meta(input), ints((size,), "as_strided_scatter"), ints((stride,), "as_strided_scatter", "stride")
    at = 0 if storage_offset is None else storage_offset - offset_of(input)
    last = at + sum((n - 1) * s for n, s in zip(size, stride))
    if not m.contiguous or at < 0 or last >= m.numel and all(size):
        item = m.dtype.itemsize
        if m.contiguous and not storage_offset and at == 0:
            raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset 0, and itemsize {item} requiring a "
                               f"storage size of {(last + 1) * item} are out of bounds for storage of size {m.numel * item}")
        raise NotImplementedError("as_strided_scatter beyond the elements of a contiguous tensor")
    if meta(src).shape != size:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(meta(src).shape)}, slice size = "
                           f"{list(size)}")
    _refuse_integers(input, src)
    return apply(I.AS_STRIDED_SCATTER, (input, src), (T, T, size, stride, at))


@function("unravel_index", method=False)
def unravel_index(indices, shape):
    """The coordinates of flat places in a shape."""
    if P.kind_of(meta(indices).dtype) != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any([n < 0 for n in shape]):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    if 0 in shape and not meta(indices).numel:
        shape = (1,) * len(shape)              # nothing is divided
    out, step, indices = [], 1, indices.long()
    for n in reversed(shape):
        out.append((indices // step) % n)
        step *= n
    return FUNCTIONS["stack"](out[::-1], -1).unbind(-1) if out else ()
