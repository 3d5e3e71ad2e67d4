"""Pooling over windows of two and three dimensions: maximum (without places and gradients over one, too), average, adaptive, fractional,
and unpooling. Over one dimension torch pools as over two.

Windows are products of intervals, so that every operator works on one dimension after the other, with a few shifted copies
of its input instead of the windows' elements.
"""
from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import Reads
from ...engine.interpret import build, fused
from .. import promotion as P
from ..common import wide
from ..layout import as_operands, channels_last_strides, kept_strides, lies_channels_last, not_channels_last
from ..registry import kernel_back, op

_UNROLLED = 16             # windows up to this length are read element by element


def output_size(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows a dimension of n elements has. With ceil_mode the last one may begin inside and end outside."""
    out = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out


def _strides(inst, self, *rest):
    """Batches that lie channels_last stay so; in three dimensions max_pool alone keeps it, and for a single sample too."""
    dims, volumes = len(rest[0]), inst.op in (max_pool, max_pool_with_indices)
    if dims == 3 and volumes and self.ndim == 4:
        last = channels_last_strides((1, *self.shape))[1:]
        kept = all([n == 1 or s == k for n, s, k in zip(self.shape, self.strides, last)]) and not self.contiguous
        return tuple([channels_last_strides((1, *m.shape))[1:] for m in inst.out_metas]) if kept else None
    kept = self.ndim == dims + 2 and (dims == 2 or dims == 3 and volumes) and lies_channels_last(self)
    return tuple([channels_last_strides(m.shape) for m in inst.out_metas]) if kept else None


# -- maximum ----------------------------------------------------------------------------------------------------------
def _best(a, b):
    """Pairs (value, place): the greater value, the earlier one of equals; the later one of NaNs."""
    takes = b[0] > a[0]
    if jnp.issubdtype(b[0].dtype, jnp.floating):
        takes |= jnp.isnan(b[0])
    return jnp.where(takes, b[0], a[0]), jnp.where(takes, b[1], a[1])


def _cut(pair, axis, start, stop, step=1):
    return tuple(jax.lax.slice_in_dim(a, start, stop, step, axis) for a in pair)


def _sliding(pair, axis, kernel, dilation):
    """The best of `kernel` elements from each place on, by doubling the length."""
    length = 1
    while length < kernel:
        more = min(length, kernel - length)
        n, shift = pair[0].shape[axis], more * dilation
        pair = _best(_cut(pair, axis, 0, n - shift), _cut(pair, axis, shift, n))
        length += more
    return pair


def _max_along(pair, axis, kernel, stride, padding, dilation, out):
    """The best of every window of one dimension."""
    n, span = pair[0].shape[axis], dilation * (kernel - 1) + 1
    after = (out - 1) * stride + span - n - padding
    x, place = pair
    if after < 0:
        (x, place), after = _cut(pair, axis, 0, n + after), 0
    if padding or after:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (padding, after)
        x = jnp.pad(x, widths, constant_values=_lowest(x.dtype))
        place = jnp.pad(place, widths, mode="edge")
    pair = x, place
    last = (out - 1) * stride + 1
    if kernel > _UNROLLED:
        return _cut(_sliding(pair, axis, kernel, dilation), axis, 0, last, stride)
    best = _cut(pair, axis, 0, last, stride)
    for k in range(1, kernel):
        best = _best(best, _cut(pair, axis, k * dilation, k * dilation + last, stride))
    return best


def _lowest(dtype):
    return jnp.array(-jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min, dtype)


def _places(shape, dims):
    """The number of every element within its plane."""
    plane = shape[len(shape) - dims:]
    count = math.prod(plane)
    numbers = jnp.arange(count, dtype=jnp.int32 if count.__class__ is int and count <= 2 ** 31 else jnp.int64)
    return jnp.broadcast_to(numbers.reshape(plane), shape)


def _max_windows(self, kernel, stride, padding, dilation, ceil_mode):
    pair = self, _places(self.shape, len(kernel))
    first = self.ndim - len(kernel)
    for d in reversed(range(len(kernel))):
        out = output_size(self.shape[first + d], kernel[d], stride[d], padding[d], dilation[d], ceil_mode)
        pair = _max_along(pair, first + d, kernel[d], stride[d], padding[d], dilation[d], out)
    return pair


def _name(kind, more=""):
    return lambda inst: f"{kind}{len(inst.layout[1])}D{more}Backward0"


def _at(self, place, dims):
    """(what stands at these places of the planes, the places): the gradient goes there, and needs nothing else."""
    value = jnp.take_along_axis(_flat(self, dims), _flat(place, dims), -1, mode="clip")
    return value.reshape(place.shape), place


def _flat(a, dims):
    return a.reshape(*a.shape[:a.ndim - dims], math.prod(a.shape[a.ndim - dims:]))


def _max_on_host(inst):
    """Where it is interpreted: windows of few elements, for which numbers of elements fit into a byte."""
    m, (kernel, *rest) = inst.in_metas[0], inst.layout[1:5]
    if m.dtype not in (P.float32, P.float64) or not inst.out_metas[0].numel or math.prod(kernel) > 255:
        return None
    slow = functools.cache(lambda: build(inst.jaxpr, guard=False))
    return fused.max_windows(m.shape, inst.out_metas[0].shape[m.ndim - len(kernel):], kernel, *rest, m.dtype, len(inst.out_metas) > 1,
                             lambda x: slow()(x))


def _max_back_on_host(inst, plan):
    m, (kernel, stride, _, dilation, _) = inst.in_metas[0], inst.layout[1:6]
    apart = all([s >= d * (k - 1) + 1 for k, s, d in zip(kernel, stride, dilation)])
    if not apart or m.dtype not in (P.float32, P.float64) or not m.numel or (plan.args, plan.outs, plan.cts) != ((0,), (1,), (0,)):
        return None
    back = fused.max_windows_back(m.shape, len(kernel), m.dtype)
    return back and (lambda self, *rest: back(*rest))


def _max_reads(inst, wrt):
    """The places alone; the input is kept."""
    m = inst.in_metas[0]
    return m.numel and inst.out_metas[0].numel and Reads((0,), (1,), (), (0,), (10, 10, 2 * m.numel, -20 * m.numel)) or None


def _max_results(self, kernel, stride, padding, dilation, ceil_mode):
    if self.dtype not in (P.float32, P.float64) or 0 in self.shape:
        return None
    first = self.ndim - len(kernel)
    sizes = [output_size(n, *rest, ceil_mode) for n, *rest in zip(self.shape[first:], kernel, stride, padding, dilation)]
    return [((*self.shape[:first], *sizes), dtype) for dtype in (self.dtype, P.int64)] if min(sizes) > 0 else None


def _max_weight(inst):
    twice = 1 + any(inst.layout[3])            # windows in padding alone are looked for
    many = (7 * sum(inst.layout[1]) + 8) * twice
    return many, many, 12 * inst.in_metas[0].numel * twice, -20 * inst.out_metas[0].numel


def _refuse(*kernels):
    """What torch's kernels for one, two and three dimensions do not know."""
    def check(self, *rest):
        if P.kind_of(self.dtype) in (0, 3):
            last = "_channels_last" * (len(rest[0]) == 2 and lies_channels_last(self))
            raise NotImplementedError(f"\"{kernels[len(rest[0]) - 1]}{last}\" not implemented for '{P.c_name(self.dtype)}'")
    return check


@op("max_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
    grad=_name("MaxPool", "WithIndices"), strides=_strides, check=_refuse("max_pool2d", "max_pool2d", "max_pool3d"),
    function=False, method=False, plain_gradients=not_channels_last, host=_max_on_host)
def max_pool(self, kernel_size, stride, padding, dilation, ceil_mode):
    """The maximum of every window; its gradient goes to the first of equals."""
    return _max_windows(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@op("max_pool_with_indices(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> "
    "(Tensor, Tensor)", grad=_name("MaxPool", "WithIndices"), strides=_strides,
    check=_refuse("max_pool2d", "max_pool2d", "max_pool3d"), function=False, method=False, twice="zeros", grad_back=kernel_back,
    plain_gradients=not_channels_last, lie=as_operands,
    saves=("self", "result1"), host=_max_on_host, host_back=_max_back_on_host, results=_max_results, weight=_max_weight,
    reads=_max_reads)
def max_pool_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode):
    """(max_pool, where in its plane each maximum stands)."""
    place = _max_windows(jax.lax.stop_gradient(self), kernel_size, stride, padding, dilation, ceil_mode)[1]
    value, place = _at(self, place.astype(jnp.int64), len(kernel_size))
    none, first = _without_elements(self.shape, place.shape, kernel_size, stride, padding, dilation)
    return (value, place) if none is None else (jnp.where(none, -jnp.inf, value), jnp.where(none, first, place))


def _without_elements(shape, out, kernel, stride, padding, dilation):
    """(which windows reach over padding alone, what torch takes for the places of their maxima); None where none does."""
    dims = len(kernel)
    plane, out = shape[len(shape) - dims:], out[len(out) - dims:]
    if not all([n.__class__ is int for n in (*plane, *out)]) or all([d == 1 for d in dilation]):
        return None, None
    none, first = np.zeros(out, bool), np.zeros(out, np.int64)
    for d, n in enumerate(plane):
        start = np.arange(out[d]) * stride[d] - padding[d]
        end = np.minimum(start + (kernel[d] - 1) * dilation[d] + 1, n)
        start += np.maximum(-(start // dilation[d]), 0) * dilation[d]
        along = [-1 if e == d else 1 for e in range(dims)]
        none |= (start >= end).reshape(along)
        first = first * n + start.reshape(along)
    return (none, first) if none.any() else (None, None)


# -- average ----------------------------------------------------------------------------------------------------------
def _sum_along(x, axis, kernel, stride, padding, out):
    """The sum of every window of one dimension; outside are zeros."""
    n = x.shape[axis]
    after = (out - 1) * stride + kernel - n - padding
    zero = np.zeros((), x.dtype)
    if kernel > _UNROLLED:
        ones, widths = [1] * x.ndim, [(0, 0)] * x.ndim
        window, steps = list(ones), list(ones)
        window[axis], steps[axis], widths[axis] = kernel, stride, (padding, max(after, 0))
        return jax.lax.slice_in_dim(jax.lax.reduce_window(x, zero, jax.lax.add, window, steps, widths), 0, out, axis=axis)
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (padding, after, 0)
    x = jax.lax.pad(x, zero, config) if padding or after else x
    last = (out - 1) * stride + 1
    total = jax.lax.slice_in_dim(x, 0, last, stride, axis)
    for k in range(1, kernel):
        total = total + jax.lax.slice_in_dim(x, k, k + last, stride, axis)
    return total


def _lengths(n, kernel, stride, padding, out, count_include_pad):
    """How many elements each window of a dimension counts."""
    start = np.arange(out) * stride - padding
    end = np.minimum(start + kernel, n + padding)
    return end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0)


def _divided(total, by):
    if jnp.issubdtype(total.dtype, jnp.integer):
        return jax.lax.div(total, jnp.broadcast_to(jnp.asarray(by, total.dtype), total.shape))
    return total / jnp.asarray(by, total.dtype)


def _lie(inst, plan, saved, cts):
    """Over three dimensions the gradient is contiguous, else channels_last where the input is."""
    return tuple([None if len(inst.layout[1]) == 3 or not_channels_last(m) else kept_strides(m) for m in inst.in_metas[:len(plan.needs)]])


def _check_average(self, kernel_size, *rest):
    if P.kind_of(self.dtype) != 2 and self.dtype != P.int64 or len(kernel_size) == 3 and P.compute_dtype(self.dtype) != self.dtype:
        kernel = ("avg_pool3d_out_frame" if len(kernel_size) == 3 else "avg_pool2d_channels_last" if lies_channels_last(self)
                  else "avg_pool2d")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(self.dtype)}'")


@op("avg_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
    "int? divisor_override) -> Tensor", grad=_name("AvgPool"), strides=_strides,
    check=_check_average, function=False, method=False, twice="zeros", grad_back=kernel_back, lie=_lie, saves=("self",))
def avg_pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The average of every window: its sum over its length, with or without the padding, or over a given divisor."""
    x, first, counts = wide(self), self.ndim - len(kernel_size), []
    for d, (k, s, p) in enumerate(zip(kernel_size, stride, padding)):
        n = self.shape[first + d]
        out = output_size(n, k, s, p, 1, ceil_mode)
        x = _sum_along(x, first + d, k, s, p, out)
        counts.append(_lengths(n, k, s, p, out, count_include_pad))
    if divisor_override is not None:
        by = divisor_override
    elif all((c == c[0]).all() for c in counts if len(c)):
        by = math.prod(int(c[0]) for c in counts if len(c))
    else:
        by = np.prod(np.meshgrid(*counts, indexing="ij"), 0)
    return _divided(x, by).astype(self.dtype)


# -- adaptive ---------------------------------------------------------------------------------------------------------
def _intervals(n, out):
    """Where each of `out` windows that cover n elements begins and ends."""
    i = np.arange(out)
    return i * n // max(out, 1), -((-(i + 1) * n) // max(out, 1))


def _refuse_nothing(kind):
    """back_refuses of pooling: torch's kernels for gradients look at all sizes but the first one."""
    def refusal(inst, needs):
        shape, dims = list(inst.out_metas[0].shape), len(inst.layout[1])
        if 0 in shape[1:]:
            return (f"adaptive_{kind}_pool{dims}d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, "
                    f"but grad_output has sizes {shape} with dimension {shape.index(0, 1)} being empty")
    return refusal


@op("adaptive_avg_pool(Tensor self, int[] output_size) -> Tensor", grad=_name("AdaptiveAvgPool"), strides=_strides, function=False,
    method=False, twice="zeros", grad_back=kernel_back, lie=_lie, saves=("self",), back_refuses=_refuse_nothing("avg"))
def adaptive_avg_pool(self, output_size):
    """Averages of `output_size` windows that cover the input."""
    x, first = wide(self), self.ndim - len(output_size)
    for d, out in enumerate(output_size):
        x = _mean_along(x, first + d, out)
    return x.astype(self.dtype)


def _mean_along(x, axis, out):
    n = x.shape[axis]
    if out == n:
        return x
    if out and n % out == 0:
        return jnp.mean(x.reshape(*x.shape[:axis], out, n // out, *x.shape[axis + 1:]), axis + 1)
    start, end = _intervals(n, out)
    length = end - start
    offsets = np.arange(length.max(initial=1))
    inside = offsets < length[:, None]
    shape = (len(length), len(offsets)) + (1,) * (x.ndim - axis - 1)
    parts = jnp.take(x, np.where(inside, start[:, None] + offsets, 0).ravel(), axis, mode="clip")
    parts = parts.reshape(*x.shape[:axis], len(length), len(offsets), *x.shape[axis + 1:])
    total = jnp.sum(jnp.where(inside.reshape(shape), parts, 0), axis + 1)
    return total / length.reshape((-1,) + (1,) * (x.ndim - axis - 1)).astype(x.dtype)


@op("adaptive_max_pool(Tensor self, int[] output_size) -> (Tensor, Tensor)", grad=_name("AdaptiveMaxPool"), strides=_strides,
    function=False, method=False, twice="zeros", grad_back=kernel_back, lie=_lie, saves=("self", "result1"),
    back_refuses=_refuse_nothing("max"))
def adaptive_max_pool(self, output_size):
    """(maxima of `output_size` windows that cover the input, where in its plane each stands)."""
    pair, first = (jax.lax.stop_gradient(self), _places(self.shape, len(output_size))), self.ndim - len(output_size)
    for d in reversed(range(len(output_size))):
        pair = _adaptive_max_along(pair, first + d, output_size[d])
    return _at(self, pair[1].astype(jnp.int64), len(output_size))


def _adaptive_max_along(pair, axis, out):
    n = pair[0].shape[axis]
    if out == n:
        return pair
    if out and n % out == 0:
        return _max_along(pair, axis, n // out, n // out, 0, 1, out)
    # windows are between one and three times n // out long: they are unions of that many of this length
    least = max(n // max(out, 1), 1)
    pair = _sliding(pair, axis, least, 1)
    start, end = _intervals(n, out)

    def at(places):
        return tuple(jnp.take(a, places, axis, mode="clip") for a in pair)
    return _best(_best(at(start), at(np.minimum(start + least, end - least))), at(end - least))


# -- fractional -------------------------------------------------------------------------------------------------------
@op("fractional_max_pool(Tensor self, Tensor samples, int[] kernel_size, int[] output_size) -> (Tensor, Tensor)",
    grad=lambda inst: f"FractionalMaxPool{len(inst.layout[2])}DBackward0", nondiff=("samples",), function=False, method=False,
    twice="zeros", grad_back=kernel_back, plain_gradients=True, saves=("self", "result1"))
def fractional_max_pool(self, samples, kernel_size, output_size):
    """(maxima of windows whose places the samples (N, C, dims) in [0, 1) choose, where in its plane each maximum stands)."""
    dims = len(kernel_size)
    x = self if self.ndim == dims + 2 else self[None]
    plane = x.shape[2:]
    if 0 in output_size:
        empty = self.shape[:self.ndim - dims] + tuple(output_size)
        return jnp.zeros(empty, self.dtype), jnp.zeros(empty, jnp.int64)
    starts = []
    for d, (n, k, out) in enumerate(zip(plane, kernel_size, output_size)):
        u = samples[..., dims - 1 - d if dims == 2 else d][..., None].astype(wide(self).dtype)
        step = jnp.asarray((n - k) / (out - 1) if out > 1 else 0, u.dtype)
        at = ((jnp.arange(out, dtype=u.dtype) + u) * step).astype(jnp.int64) - (u * step).astype(jnp.int64)
        at = at.at[..., -1].set(n - k)
        starts.append(at.reshape(at.shape[:2] + (1,) * d + (out,) + (1,) * (dims - 1 - d)))
    flat, best = _flat(jax.lax.stop_gradient(x), dims), None
    for offsets in itertools.product(*map(range, kernel_size)):
        place = 0
        for start, offset, n in zip(starts, offsets, plane):
            place = place * n + start + offset
        value = jnp.take_along_axis(flat, _flat(place, dims), -1, mode="clip").reshape(place.shape)
        best = (value, place) if best is None else _best(best, (value, place))
    return _at(self, best[1] if self.ndim == dims + 2 else best[1][0], dims)


# -- unpooling --------------------------------------------------------------------------------------------------------
def _unpooled(ct, self, indices, output_size):
    dims = len(output_size)
    return jnp.take_along_axis(_flat(ct, dims), _flat(indices, dims), -1, mode="clip").reshape(self.shape), None


def _unpooled_linear(inst, ins, nums, outs, cts):
    """Of several values for one place the last stays: unlike in torch's gradient, only its tangent is the result's."""
    return jax.vjp(lambda x: inst.op.body(x, ins[1], inst.layout[2]), jnp.zeros(inst.in_metas[0].shape, cts[0].dtype))[1](cts[0])


def _unpool_strides(inst, self, indices, output_size):
    return _strides(inst, self, output_size)


def _check_unpool(self, indices, output_size):
    if P.kind_of(self.dtype) != 2:
        name = f"max_unpool{len(output_size)}d" + "_channels_last" * (len(output_size) == 2 and lies_channels_last(self))
        raise NotImplementedError(f"\"{name}\" not implemented for '{P.c_name(self.dtype)}'")


@op("max_unpool(Tensor self, Tensor indices, int[] output_size) -> Tensor", grad=lambda inst: f"MaxUnpool{len(inst.layout[2])}DBackward0",
    check=_check_unpool, rule=_unpooled, linear_rule=_unpooled_linear,
    strides=_unpool_strides, function=False, method=False, plain_gradients=True)
def max_unpool(self, indices, output_size):
    """Zeros, with each value at the place in its plane that `indices` names."""
    lead = self.shape[:self.ndim - len(output_size)]
    x, at = [a.reshape(math.prod(lead), math.prod(self.shape[len(lead):])) for a in (self, indices)]
    made = jnp.zeros((x.shape[0], math.prod(output_size)), self.dtype)
    return made.at[jnp.arange(x.shape[0])[:, None], at].set(x).reshape(*lead, *output_size)
