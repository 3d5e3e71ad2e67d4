"""Order: sorting, the k largest, medians and quantiles, searching in sorted sequences."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import contiguous_strides
from ..engine.interpret import rearranged
from . import promotion as P
from .common import as_number, is_complex, is_float, real_alone, taken, wide, wrap_dim
from .layout import kept_strides
from .loops import kernel, searchsorted as insertions
from .reduction import along, chosen, evenly, nonempty, picked, place, unsupported
from .casts import cast
from .registry import op


def order_code(x):
    """Unsigned 32-bit numbers in the order of x: the zeros equal, every nan last. None for dtypes with more bits."""
    if is_float(x) and x.dtype.itemsize <= 4:
        bits = jax.lax.bitcast_convert_type(x.astype(np.float32), np.int32)
        below = jax.lax.shift_right_arithmetic(bits, np.int32(31))                  # -1 for the negative, else 0
        code = jax.lax.bitcast_convert_type((bits ^ (below | np.int32(-2 ** 31))) - below, np.uint32)
        return jnp.where(jnp.isnan(x), np.uint32(0xFFFFFFFF), code)
    if x.dtype.itemsize <= 4 and not is_complex(x):
        return (x.astype(np.int64) + (0 if jnp.issubdtype(x.dtype, jnp.unsignedinteger) else 2 ** 31)).astype(np.uint32)
    return None


def packed(x, d, descending=False):
    """Each element's order and its place along `d` in one int64: no two are equal. None where `order_code` is."""
    code = order_code(x)
    if code is None:
        return None
    code = (~code if descending else code).astype(np.int64) - 2 ** 31
    return code << 32 | jax.lax.broadcasted_iota(np.int64, x.shape, d)


def ordered(x, d, descending=False):
    """(values, indices) of a stable sort along `d`; nan is the largest."""
    key = jax.lax.stop_gradient(x)
    if key.dtype == np.bool_:
        key = key.astype(np.uint8)
    codes = packed(key, d, descending)
    if codes is not None:            # numbers alone sort several times faster than pairs by a comparison of floats
        index = jax.lax.sort(codes, dimension=d, is_stable=False) & 0xFFFFFFFF
        return taken(jax.lax.stop_gradient(x), index, d), index
    if descending:
        key = jnp.flip(key, d)
    at = jax.lax.broadcasted_iota(np.int64, x.shape, d)
    values, index = jax.lax.sort((key, at), dimension=d, is_stable=True, num_keys=1)
    if descending:
        values, index = jnp.flip(values, d), x.shape[d] - 1 - jnp.flip(index, d)
    return cast(values, x.dtype), index


def tracked(x, values, index, d):
    """`values` = x at `index`, with the gradient going there."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return values
    if index.shape[d] == x.shape[d] == 1:
        return x
    return chosen(x, index, values, d)


def sorted_strides(inst, self, *rest):
    """A sort keeps its input's layout."""
    return kept_strides(self)


def _sort(self, dim, descending):
    """(values, indices) in order along a dimension. Compiled, it is always stable, so that the overloads with `stable` do the same."""
    d = wrap_dim(dim, self.ndim)
    if is_complex(self):
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not self.ndim:
        return self, jnp.zeros((), np.int64)
    values, index = ordered(self, d, descending)
    return tracked(self, values, index, d), index


def _order_alone(of, values=True):
    """(results, host and weight) of a sort's declaration; `of` gives the dimension, whether it descends and whether it is stable."""
    def results(self, *args):
        d, *_ = of(self, args)
        if self.ndim and not is_complex(self):
            return [(self.shape, self.dtype), (self.shape, np.dtype(np.int64))][0 if values else 1:]

    def host(inst):
        m = inst.in_metas[0]
        if not m.ndim:
            return None
        d, descending, stable = of(m, inst.layout[1:])
        return rearranged.sort(m.shape, m.dtype, d, descending, stable or not m.strides[d], values)     # torch leaves what is expanded

    def weight(inst):
        n = inst.in_metas[0].numel
        return 20, 20, 18 * n, -480 * n
    return dict(results=results, host=host, weight=weight)


_STABLE = lambda m, args: (wrap_dim(args[1], m.ndim), args[2], args[0])
_PLAIN = lambda m, args: (wrap_dim(args[0], m.ndim), args[1], False)


@op("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", plain_gradients=True,
    grad="SortBackward1", saves=("indices",), strides=sorted_strides, **_order_alone(_STABLE))
def sort_stable(self, stable, dim, descending):
    """Elements in order along a dimension, and where they were."""
    return _sort(self, dim, descending)


@op("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", plain_gradients=True,
    grad="SortBackward0", saves=("indices",), strides=sorted_strides, **_order_alone(_PLAIN))
def sort(self, dim, descending):
    """Elements in order along a dimension, and where they were."""
    return _sort(self, dim, descending)


@op("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", strides=sorted_strides,
    composed=True, **_order_alone(_STABLE, False))
def argsort_stable(self, stable, dim, descending):
    """Where the elements in order along a dimension were."""
    return _sort(self, dim, descending)[1]


@op("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", strides=sorted_strides, out=False,
    composed=True, **_order_alone(_PLAIN, False))
def argsort(self, dim, descending):
    """Where the elements in order along a dimension were."""
    return _sort(self, dim, descending)[1]


def _check_topk(self, k, dim, *_):
    d = wrap_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[d] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if is_complex(self):
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self.dtype == np.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")


def _topk_results(self, k, dim, *_):
    d = wrap_dim(dim, self.ndim)
    if self.ndim:
        shape = (*self.shape[:d], k, *self.shape[d + 1:])
        return [(shape, self.dtype), (shape, np.dtype(np.int64))]


def _topk_on_host(inst):
    m, (_, k, dim, largest, ordered) = inst.in_metas[0], inst.layout
    return rearranged.topk(m.shape, m.dtype, k, wrap_dim(dim, m.ndim), largest, ordered) if m.ndim and m.numel else None


def _topk_weight(inst):
    n = inst.in_metas[0].numel
    return 17, 17, 12 * n, -498 * n


@op("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", plain_gradients=True,
    grad="TopkBackward0", saves=("indices",), check=_check_topk, sizes=("k",), ordered=1,
    results=_topk_results, host=_topk_on_host, weight=_topk_weight)
def topk(self, k, dim, largest, sorted):
    """The k largest (or smallest) elements along a dimension, in order if `sorted`, and where they are."""
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return self, jnp.zeros((), np.int64)
    values, index = leading(self, k, d, largest, sorted)
    return tracked(self, values, index, d) if k else values, index


def leading(x, k, d, largest, ordered):
    """The first k of an ordering without sorting everything; nan is the largest. A compiled program has them in order in any case."""
    key = jnp.moveaxis(jax.lax.stop_gradient(x), d, -1)
    index = jnp.moveaxis(_places(k, largest, ordered)(key), -1, d)
    return taken(jax.lax.stop_gradient(x), index, d), index


def _places(k, largest, ordered=True):
    def places(key):
        code = order_code(key)
        if code is not None:
            key = code if largest else ~code
        else:
            key = _beyond(wide(key), largest)
        return jax.lax.top_k(key, k)[1].astype(np.int64)
    places.__name__ = ("" if ordered else "unordered_") + ("largest_places" if largest else "smallest_places")
    return kernel(places)


def _beyond(key, largest):
    """Numbers of 64 bits whose largest are wanted."""
    if is_float(key):
        # top_k compares bits, in which a nan is beyond infinity on the side of its sign
        last = jnp.asarray(np.copysign(np.nan, 1 if largest else -1), key.dtype)
        return jnp.where(jnp.isnan(key), last, key if largest else -key)
    return key if largest else ~key


# -- one element by rank ----------------------------------------------------------------------------------------------------
def kernel_refuses(name, x):
    """torch's kernels that take neither bool nor complex."""
    if is_complex(x) or x.dtype == np.bool_:
        raise unsupported(name, x)


def _check_kthvalue(self, k, dim, keepdim):
    d = wrap_dim(dim, self.ndim)
    nonempty("kthvalue", self, dim, (d,))
    if not 1 <= k <= (self.shape[d] if self.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if self.ndim:                              # the only element is copied
        kernel_refuses("kthvalue_cpu", self)


def _kth_results(self, k, dim, keepdim):
    d = wrap_dim(dim, self.ndim)
    if self.ndim:
        shape = (*self.shape[:d], *((1,) if keepdim else ()), *self.shape[d + 1:])
        return [(shape, self.dtype), (shape, np.dtype(np.int64))]


def _kth_on_host(inst):
    m, (_, k, dim, _) = inst.in_metas[0], inst.layout
    return rearranged.kthvalue(m.shape, m.dtype, k, wrap_dim(dim, m.ndim), inst.out_metas[0].shape) if m.ndim and m.numel else None


def _kth_weight(inst):
    n = inst.in_metas[0].numel
    return 31, 31, 20 * n, -480 * n


@op("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", plain_gradients=True,
    grad="KthvalueBackward0", saves=("indices",), check=_check_kthvalue, sizes=("k",), ordered=1,
    results=_kth_results, host=_kth_on_host, weight=_kth_weight, grad_for=real_alone, by_out="kthvalue")
def kthvalue(self, k, dim, keepdim):
    """The k-th smallest element along a dimension."""
    d, x = along("kthvalue", self, dim)
    index = _last(kth_place, x, d, as_number(k - 1, np.int64))
    return picked(x, index, d, self.ndim, keepdim)


def _last(places, x, d, *args):
    """`places` along dimension d instead of the last."""
    return jnp.moveaxis(places(jnp.moveaxis(jax.lax.stop_gradient(x), d, -1), *args), -1, d)


@kernel
def kth_place(x, k):
    """Where the element of rank k is, along the last dimension."""
    return jax.lax.dynamic_slice_in_dim(ordered(x, x.ndim - 1)[1], k, 1, x.ndim - 1)


@kernel
def median_place(x):
    """Where the lower median along the last dimension is; a nan where there is one."""
    return taken(ordered(x, x.ndim - 1)[1], middle(x, x.ndim - 1, False), x.ndim - 1)


@kernel
def nanmedian_place(x):
    """Where the lower median along the last dimension of what is not nan is."""
    return taken(ordered(x, x.ndim - 1)[1], middle(x, x.ndim - 1, True), x.ndim - 1)


def middle(x, d, ignore_nan):
    """Position (along `d`, kept) of the lower median in sorted order; of a nan if there is one and it counts."""
    n = x.shape[d]
    if not is_float(x):
        return jnp.full([1 if i == d else s for i, s in enumerate(x.shape)], (n - 1) // 2, np.int64)
    good = jnp.sum(~jnp.isnan(x), d, keepdims=True, dtype=np.int64)
    if ignore_nan:
        return jnp.maximum((good - 1) // 2, 0)
    return jnp.where(good < n, good, (n - 1) // 2)


_FEW = 8192                # up to here sorting is no slower than counting


def _by_rank(x, rank):
    """The element of a vector with that rank, found digit by digit from counts; None where sorting serves better."""
    code = order_code(x)
    if code is None or x.size <= _FEW:
        return None
    prefix, rank = jnp.zeros((), np.uint32), rank.astype(np.int32)
    for shift, bits in ((21, 11), (10, 11), (0, 10)):
        digit = ((code >> shift) & (2 ** bits - 1)).astype(np.int32)
        top = np.uint64(shift + bits)
        same = (code.astype(np.uint64) >> top) == (prefix.astype(np.uint64) >> top)
        counts = jnp.zeros(2 ** bits, np.int32).at[digit].add(same.astype(np.int32), mode="promise_in_bounds")
        upto = jnp.cumsum(counts)
        found = jnp.sum(upto <= rank, dtype=np.int32)
        rank = rank - jnp.sum(jnp.where(jnp.arange(len(counts)) < found, counts, 0), dtype=np.int32)
        prefix = prefix | (found.astype(np.uint32) << np.uint32(shift))
    return jnp.take(x, jnp.argmax(code == prefix), mode="clip")


def _check_median(self):
    if self.numel:                             # nothing has the value nan, which asks no kernel
        kernel_refuses("median_cpu", self)


def _median(self, ignore_nan):
    if not self.size:
        least = np.nan if P.kind_of(self.dtype) != 1 else np.iinfo(self.dtype).min if self.dtype.itemsize > 2 else 0
        return jnp.full((), least, self.dtype)
    x = self.reshape(-1)
    value = (nanmedian_value if ignore_nan else median_value)(jax.lax.stop_gradient(x))
    return evenly(x, value) if is_float(x) else value


def _middle_value(x, ignore_nan):
    if x.ndim > 1:                             # a batch
        return jnp.stack([_middle_value(row, ignore_nan) for row in x])
    rank = middle(x, 0, ignore_nan)[0]
    value = _by_rank(x, rank)
    value = jnp.take(ordered(x, 0)[0], rank, mode="clip") if value is None else value
    # of zeros the first one gives its sign
    return jnp.where(value == 0, jnp.take(x, jnp.argmax(x == 0), mode="clip"), value) if is_float(x) else value


@kernel
def median_value(x):
    """The lower median of a vector; nan where there is one."""
    return _middle_value(x, False)


@kernel
def nanmedian_value(x):
    """The lower median of what is not nan in a vector."""
    return _middle_value(x, True)


def _median_dim(self, dim, keepdim, ignore_nan):
    d, x = along("median", self, dim)
    kernel_refuses("median_out", x)
    index = _last(nanmedian_place if ignore_nan else median_place, x, d)
    return picked(x, index, d, self.ndim, keepdim)


@op("median(Tensor self) -> Tensor", plain_gradients=True, grad="MedianBackward0", out=False, saves=("self", "result"), twice="compared",
    check=_check_median, grad_for=real_alone)
def median(self):
    """The lower median."""
    return _median(self, False)


@op("nanmedian(Tensor self) -> Tensor", grad="NanmedianBackward0", out=False, saves=("self", "result"), twice="compared",
    check=_check_median, grad_for=real_alone)
def nanmedian(self):
    """The lower median of what is not nan."""
    return _median(self, True)


@op("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    grad="MedianBackward1", saves=("indices",), twice="compared", plain_gradients=True, by_out="median")
def median_dim(self, dim, keepdim):
    """Lower medians along a dimension and where they are."""
    return _median_dim(self, dim, keepdim, False)


@op("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    grad="NanmedianBackward1", saves=("indices",), twice="compared", by_out="nanmedian")
def nanmedian_dim(self, dim, keepdim):
    """Lower medians of what is not nan."""
    return _median_dim(self, dim, keepdim, True)


@op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", grad="ModeBackward0", saves=("indices",),
    grad_for=real_alone)
def mode(self, dim, keepdim):
    """The most frequent element along a dimension (the smallest of several) and its last place."""
    d, x = along("mode", self, dim)
    if is_complex(x) and self.ndim and self.size:      # the only element is copied
        raise unsupported("mode_cpu", x)
    return picked(x, _last(mode_place, x, d), d, self.ndim, keepdim)


@kernel
def mode_place(x):
    """The last place of the most frequent element along the last dimension, the smallest of several."""
    d = x.ndim - 1
    values, order = ordered(x, d)
    at = jax.lax.broadcasted_iota(np.int32, x.shape, d)
    start = jnp.where((values != jnp.roll(values, 1, d)) | (at == 0), at, 0)
    length = at - jax.lax.cummax(start, axis=d)
    return taken(order, place(length, d, True), d)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


OUTSIDE_UNIT = op("outside_unit.late(Tensor q) -> Tensor")(lambda q: jnp.any(~((q >= 0) & (q <= 1))))


def quantile_strides(inst, self, q, *rest):
    """Several quantiles lie next to each other in memory, though theirs is the first dimension."""
    if not q.ndim:
        return None
    n = q.shape[0]
    return (1,) + tuple(n * s for s in contiguous_strides(inst.out_metas[0].shape[1:]))


@op("quantile.any(Tensor self, Tensor q, int? dim, bool keepdim, str interpolation, bool ignore_nan) -> Tensor",
    seen=lambda inst: {0: None, 1: None}, grad="SqueezeBackward4", strides=quantile_strides, twice="compared alone")
def quantile(self, q, dim, keepdim, interpolation, ignore_nan):
    """Quantiles along a dimension, or of everything."""
    name = "nanquantile" if ignore_nan else "quantile"
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if not self.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if self.dtype not in (P.float32, P.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype != self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    if dim is None:
        x, d = self.reshape(-1), 0
        out_shape = (1,) * self.ndim if keepdim else ()
    else:
        d = wrap_dim(dim, self.ndim)
        x = self if self.ndim else self.reshape(1)
        kept = tuple(1 if i == d else n for i, n in enumerate(x.shape))
        out_shape = () if not self.ndim else kept if keepdim else kept[:d] + kept[d + 1:]
    x = jnp.moveaxis(x, d, -1)
    s, order = ordered(x, x.ndim - 1)
    s = tracked(x, s, order, x.ndim - 1)
    n = s.shape[-1]
    good = jnp.sum(~jnp.isnan(x), -1, keepdims=True)
    rows = q.reshape((-1,) + (1,) * x.ndim)                       # one leading dimension for q
    if ignore_nan:
        rank = jnp.maximum(rows * (good - 1).astype(q.dtype), 0)
    else:
        rank = jnp.where(good < n, jnp.asarray(n - 1, q.dtype), rows * (n - 1))
    if interpolation == "lower":
        rank = jnp.floor(rank)
    elif interpolation == "higher":
        rank = jnp.ceil(rank)
    elif interpolation == "nearest":
        rank = jnp.round(rank)
    rank = jnp.broadcast_to(rank, (rows.shape[0],) + s.shape[:-1] + (1,))
    below = jnp.floor(rank)
    pick = lambda r: jnp.take_along_axis(jnp.broadcast_to(s, (rank.shape[0],) + s.shape), r.astype(np.int64), -1, mode="clip")
    low = pick(below)
    if interpolation in ("linear", "midpoint"):
        weight = rank - below if interpolation == "linear" else jnp.full_like(rank, 0.5)
        high = pick(jnp.ceil(rank))
        # torch's lerp, which is exact at both ends
        low = jnp.where(weight < 0.5, low + weight * (high - low), high - (high - low) * (1 - weight))
    return low.reshape(q.shape + out_shape)


# -- searching --------------------------------------------------------------------------------------------------------------
@op("searchsorted.any(Tensor sorted_sequence, Tensor self, Tensor? sorter, bool right, bool out_int32) -> Tensor")
def searchsorted(sorted_sequence, self, sorter, right, out_int32):
    """Where each element would be inserted to keep the sequences (along the last dimension) in order."""
    if sorter is not None:
        sorted_sequence = jnp.take_along_axis(sorted_sequence, sorter, -1, mode="clip")
    side = "right" if right else "left"
    lead = sorted_sequence.shape[:-1]
    if sorted_sequence.shape[-1] == 0 or not self.size:
        out = jnp.zeros(self.shape, np.int64)
    elif not lead:
        out = insertions(sorted_sequence, self, side=side)
    else:
        rows = sorted_sequence.reshape((-1, sorted_sequence.shape[-1]))
        values = self.reshape((rows.shape[0], -1))
        out = jax.vmap(lambda a, v: insertions(a, v, side=side))(rows, values).reshape(self.shape)
    return out.astype(np.int32 if out_int32 else np.int64)


def _check_rows(name):
    def check(x, *rest):
        if x.ndim != 1:
            raise RuntimeError(f"Input is supposed to be a vector, but got {x.ndim} dimensional tensor.")
        if x.dtype.name not in ("int32", "int64"):
            raise NotImplementedError(f'"convert_indices_from_{name}_cpu" not implemented for \'{P.c_name(x.dtype)}\'')
    return check


@op("_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor", method=False, out=False,
    check=_check_rows("coo_to_csr"))
def coo_to_csr(self, size, out_int32):
    """Where each of `size` rows, and what follows them, begins among the row numbers `self`, which are in order."""
    if not self.size:
        return jnp.zeros(size + 1, np.int32 if out_int32 else np.int64)
    rows = jnp.arange(size + 1, dtype=self.dtype)
    return insertions(self, rows, side="left").astype(np.int32 if out_int32 else np.int64)


@op("_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor",
    method=False, out=False, check=_check_rows("csr_to_coo"))
def csr_to_coo(crow_indices, col_indices, out_int32, transpose):
    """The row and the column of each element as two rows of a matrix; with `transpose` the column first."""
    counted = jnp.cumsum(jnp.ones_like(col_indices, np.int64)) - 1
    row = insertions(crow_indices.astype(np.int64), counted, side="right") - 1 if col_indices.size else counted
    made = (col_indices, row) if transpose else (row, col_indices)
    return jnp.stack([x.astype(np.int32 if out_int32 else np.int64) for x in made])


@op("isin.any(Tensor elements, Tensor test_elements, bool invert) -> Tensor")
def isin(elements, test_elements, invert):
    """Whether each element occurs among the test elements."""
    d = P.result_type([a.dtype for a in (elements, test_elements) if a.ndim],
                      [a.dtype for a in (elements, test_elements) if not a.ndim], ())
    x, tests = cast(elements, d), cast(test_elements, d).reshape(-1)
    if tests.size <= 32 or is_complex(x):
        found = jnp.any(x[..., None] == tests, -1)
    else:
        tests = jnp.sort(tests)
        at = jnp.clip(insertions(tests, x), 0, tests.size - 1)
        found = jnp.take(tests, at, mode="clip") == x
    return ~found if invert else found
