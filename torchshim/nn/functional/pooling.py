"""Pooling: torch's arguments and refusals around the operators of `ops.nn.pooling`."""
from __future__ import annotations

import math

import numpy as np

from ...engine import context
from ...ops import promotion as P
from ...ops.common import size_at
from ...ops.layout import as_row
from ...ops.nn import pooling as ops
from ...ops.registry import T
from ...tensor.api.bind import FUNCTIONS, call, function
from ...tensor.api.picking import in_range
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import read
from ...tensor.core.memory_format import lies_channels_last
from ...tensor.core.settings import alert_nondeterministic
from ...tensor.core.write import born_written, needs_grad
from .common import known
from .conv import numbers, spread

_WORDS = {1: "one int", 2: "two ints", 3: "three ints"}
_AXES = {2: "HW", 3: "THW"}


#: What torch's own kernel of sequences, which has no gradient, wants of its arguments.
_OF_ONE = {"stride": "None, an int, list of ints, or", "padding": "an int, list of ints, or"}


def _sizes(name, what, value, dims, omitted=False, alone=False):
    """A tuple with a number for every dimension. alone: the kernel is max_pool1d's own."""
    made = numbers(value, dims)
    if len(made) != dims:
        if alone:
            raise RuntimeError(f"{name}() {what} must be {_OF_ONE.get(what, 'an int, list of ints or')} tuple of ints of size 1 but got size "
                               f"{len(made)}")
        if dims == 1 and name != "lp_pool1d":
            raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(made)})")
        word = "be either" if what == "dilation" else "either be omitted," if omitted else "either be"
        raise RuntimeError(f"{name}: {what} must {word} a single int, or a tuple of {_WORDS[dims]}")
    return made


def _windows(name, dims, kernel_size, stride, padding, dilation, alone=False):
    kernel = _sizes(name, "kernel_size", kernel_size, dims, alone=alone)
    step = kernel if stride is None or stride == () or stride == [] else _sizes(name, "stride", stride, dims, True, alone)
    return kernel, step, _sizes(name, "padding", padding, dims, alone=alone), _sizes(name, "dilation", dilation, dims, alone=alone)


def _listed(names, values):
    return " ".join(f"{n}: {v}" for n, v in zip(names, values))


def _check(name, input, windows, ceil_mode):
    """torch's checks, in its order, and its words."""
    kernel, stride, padding, dilation = windows
    dims, shape = len(kernel), tuple(input.shape)
    least = dims + 1
    if len(shape) not in (least, least + 1):
        if name == "avg_pool2d":
            size_at(_Shape(shape), -3)
            raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}")
        raise RuntimeError(f"non-empty {least}D or {least + 1}D (batch mode) tensor expected for input")
    for s in stride:
        if s == 0:
            raise RuntimeError("stride should not be zero")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    axes = _AXES[dims]
    if min(kernel) <= 0:
        raise RuntimeError("kernel size should be greater than zero, but got " + _listed(["k" + a for a in axes], kernel))
    if min(stride) <= 0:
        raise RuntimeError("stride should be greater than zero, but got " + _listed(["d" + a for a in axes], stride))
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero, but got " + _listed(["dilation" + a for a in axes], dilation))
    if 0 in shape[-least:]:
        if dims == 2:
            raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                               f"{list(shape)}")
        bad = len(shape) - least + shape[-least:].index(0)
        full = name if name == "avg_pool3d" else name + "_with_indices_out_cpu_template"
        raise RuntimeError(f"{full}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
                           f"{list(shape)} and non-batch dimension {shape[bad]} has length zero!")
    out = [ops.output_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(shape[-dims:], *windows)]
    if name == "avg_pool3d" and any(n < k for n, k in zip(shape[-dims:], kernel)):     # (its padding does not count)
        raise RuntimeError(f"input image ({_listed(axes, shape[-dims:])}) smaller than kernel size "
                           f"({_listed(['k' + a for a in axes], kernel)})")
    if min(out) < 1:
        c = shape[-least]
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, shape[-least:]))}). Calculated output size: "
                           f"({'x'.join(map(str, (c, *out)))}). Output size is too small")


def _check_1d(input, windows, ceil_mode, with_indices):
    """max_pool1d looks at its arguments by itself; with indices it is max_pool2d that looks."""
    (kernel,), (stride,), (padding,), (dilation,) = windows
    shape = tuple(input.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        if with_indices:
            raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                               f"{[*shape[:-1], 1, shape[-1]]}")
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")
    for what, n in (("kernel_size", kernel), ("stride", stride)):
        if n <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {n}")
    if padding < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {padding}" if with_indices
                           else f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > (dilation * (kernel - 1) + 1) // 2 and dilation > 0:
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} and "
                           f"dilation={dilation}" if with_indices else "max_pool1d() padding should be at most half of kernel size, but "
                           f"got padding={padding} and kernel_size={kernel}")
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    out = ops.output_size(shape[-1], kernel, stride, padding, dilation, ceil_mode)
    if out <= 0 and with_indices:
        c = shape[-2]
        raise RuntimeError(f"Given input size: ({c}x1x{shape[-1]}). Calculated output size: ({c}x1x{out}). Output size is too small")
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")


def _over_rows(windows):
    """Windows over one dimension as over two, the first of which is 1."""
    return [(one, *w) for one, w in zip((1, 1, 0, 1), windows)]


def _of_rows(op, input, *layout):
    """Pooling over one dimension as torch does it: over two, the first of which is 1. Its results are views."""
    made = apply(op, (input.unsqueeze(-2),), (T, *layout))
    return tuple([t.squeeze(-2) for t in made]) if isinstance(made, tuple) else made.squeeze(-2)


def _max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, with_indices):
    name = f"max_pool{dims}d"
    alone = dims == 1 and not with_indices and not (context.grad and needs_grad(input))
    windows = _windows(name, dims, kernel_size, stride, padding, dilation, alone)
    if dims > 1:
        _check(name, input, windows, ceil_mode)
        if dims == 3 and input.dim() == 4 and lies_channels_last(input._ts_meta):
            raise RuntimeError("Unsupported memory format. Supports only ChannelsLast3d, Contiguous")
    else:
        if with_indices and input.dim() not in (2, 3):
            raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
                               "checking arguments for max_pool1d)")
        _check_1d(input, windows, ceil_mode, with_indices)
        if alone and P.kind_of(input._ts_meta.dtype) != 2:
            raise NotImplementedError(f"\"max_pool1d_impl\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")
    layout = T, *windows, bool(ceil_mode)
    if with_indices or context.grad and needs_grad(input):     # backward by the places that were found, not by finding them again
        if dims == 1:
            made = _of_rows(ops.max_pool_with_indices, input, *_over_rows(windows), bool(ceil_mode))
        else:
            made = apply(ops.max_pool_with_indices, (input,), layout)
        return made if with_indices else made[0]
    made = apply(ops.max_pool, (input,), layout)
    return born_written(made, 1) if dims == 1 and input.dim() == 2 else made


def _functions(dims):
    """torch's max_pool1d, 2d or 3d, the form that returns indices, and nn.functional's, which has a switch."""
    name = f"max_pool{dims}d"

    def max_pool(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        return _max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, False)

    def functional(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return _max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return _max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode, True)
    shape = ("L", "H, W", "D, H, W")[dims - 1]
    max_pool.__doc__ = f"""Maxima of windows of (N, C, {shape}) or (C, {shape}). stride: the kernel's size by default.

    ceil_mode: a last window that begins inside the input may end outside.
    """
    functional.__doc__ = max_pool.__doc__ + "return_indices: also where in its plane each maximum stands, as max_unpool takes it.\n    "
    with_indices.__doc__ = f"({name}, where in its plane each maximum stands)."
    function(name, method=False)(max_pool)
    if dims == 1:
        function(name + "_with_indices", method=False)(with_indices)
    for f, called in ((functional, name), (with_indices, name + "_with_indices")):
        f.__module__, f.__name__, f.__qualname__ = "torchshim.nn.functional", called, called
    return functional, with_indices


max_pool1d, max_pool1d_with_indices = _functions(1)
max_pool2d, max_pool2d_with_indices = _functions(2)
max_pool3d, max_pool3d_with_indices = _functions(3)


# -- average ----------------------------------------------------------------------------------------------------------
def _avg_pool(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    kernel, stride, padding, _ = windows = _windows(name, dims, kernel_size, stride, padding, 1)
    if dims == 1:
        _expect_1d(name, input)
        _check("avg_pool2d", _Shape(tuple(input.shape[:-1]) + (1, input.shape[-1])), _over_rows(windows), ceil_mode)
    else:
        _check(name, input, windows, ceil_mode)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if dims == 1:
        return _of_rows(ops.avg_pool, input, *_over_rows(windows)[:3], bool(ceil_mode), bool(count_include_pad), divisor_override)
    return apply(ops.avg_pool, (input,), (T, kernel, stride, padding, bool(ceil_mode), bool(count_include_pad), divisor_override))


class _Shape:
    """Stands for a tensor of which only the shape is asked."""
    def __init__(self, shape):
        self.shape, self.ndim = shape, len(shape)


def _expect_1d(name, input):
    if input.dim() not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while checking "
                           f"arguments for {name})")


@function(method=False)
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Averages of windows of (N, C, L) or (C, L); see avg_pool2d."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@function(namespace="nn.functional", method=False, out=True)
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """Averages of windows of (N, C, H, W) or (C, H, W). stride: the kernel's size by default.

    ceil_mode: a last window that begins inside may end outside; count_include_pad: padding counts; divisor_override: divides instead.
    """
    return _avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@function(namespace="nn.functional", method=False, out=True)
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """Averages of windows of (N, C, D, H, W) or (C, D, H, W); see avg_pool2d."""
    return _avg_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(dims, input, norm_type, kernel_size, stride, ceil_mode):
    if dims == 2:
        _, _ = spread(kernel_size, dims)
    elif dims == 3:
        _, _, _ = spread(kernel_size, dims)
    if norm_type in (math.inf, -math.inf):
        size = input.abs() if norm_type > 0 else -input.abs()
        best = _max_pool(dims, size, kernel_size, stride, 0, 1, ceil_mode, False)
        return best if norm_type > 0 else -best
    name = f"avg_pool{dims}d"
    mean = _avg_pool(name, dims, input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True)
    return (mean.sign() * mean.abs().relu()).mul(math.prod(_sizes(name, "kernel_size", kernel_size, dims))).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^p over each window)^(1/p), over (N, C, L) or (C, L)."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^p over each window)^(1/p), over (N, C, H, W) or (C, H, W)."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(sum of x^p over each window)^(1/p), over (N, C, D, H, W) or (C, D, H, W)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# -- adaptive ---------------------------------------------------------------------------------------------------------
def _targets(name, input, output_size, dims):
    """The output size, with the input's own where it says None."""
    if dims > 1 and not isinstance(output_size, int) and len(input.shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if any([n.__class__ is bool or n is None and dims == 1 for n in given]):
        raise TypeError(f"{name}(): argument 'output_size' must be tuple of ints")
    if len(given) != dims:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})" if dims == 1 else
                           f"{name}: output_size must be {dims}" if "avg" in name else
                           f"{name}(): internal error: output_size.size() must be {dims}")
    sizes = (1,) * dims + tuple(input.shape)
    return tuple([n if g is None else g.__index__() for g, n in zip(given, sizes[-dims:])])


def _check_adaptive(name, input, target, kernel, colon):
    dims, shape = len(target), tuple(input.shape)
    told = f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}"
    unfit = len(shape) not in (dims + 1, dims + 2)
    if unfit and name != "adaptive_avg_pool3d":    # whose sizes are looked at first
        raise RuntimeError(told)
    for d in range(len(shape) - dims if name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d") else 1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                               f"{list(shape)} with dimension {d} being empty")
    if unfit:
        raise RuntimeError(told)
    of, averages = P.kind_of(input._ts_meta.dtype), "avg" in name
    wants = of == 3 and input.requires_grad and context.grad
    # a kernel is asked where there are results, or their gradient is wanted
    some = 0 not in target and 0 not in shape or (not averages or dims == 3) and (wants or 0 not in target)
    if of != 2 and some:
        kernel += "_channels_last" * (dims == 2 and lies_channels_last(input._ts_meta)
                                      or dims == 1 and len(shape) == 3 and lies_channels_last(as_row(input._ts_meta)))
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")
    if wants and averages:
        raise RuntimeError("_adaptive_avg_pool2d does not support automatic differentiation for outputs with complex dtype.")


def _adaptive_avg(dims, input, output_size):
    name = f"adaptive_avg_pool{dims}d"
    target = _targets(name, input, output_size, dims)
    if dims == 1:
        _expect_1d(name, input)
    if min(target) < 0:
        shown = ("1, {}", "{}, {}", "{}, {},{}")[dims - 1].format(*target)
        raise RuntimeError(f"adaptive_avg_pool{max(dims, 2)}d: elements of output_size must be greater than or equal to 0 but received "
                           f"{{{shown}}}")
    if not max(target) == min(target) == 1:
        _check_adaptive(name, input, target, f"adaptive_avg_pool{max(dims, 2)}d" + "_cpu" * (dims == 3), "")
    else:                                      # a mean, which refuses less
        if dims == 1:
            return _adaptive_avg(2, input.unsqueeze(-2), (1, 1)).squeeze(-2)
        made = input.mean(tuple(range(-dims, 0)), True)
        if input.dim() == dims + 2 and lies_channels_last(input._ts_meta):          # and so does what has a single place
            c = made.shape[1]
            made = made.as_strided_(made.shape, (c, 1) + (c,) * dims)
        return made
    return _of_rows(ops.adaptive_avg_pool, input, (1, *target)) if dims == 1 else apply(ops.adaptive_avg_pool, (input,), (T, target))


@function(method=False)
def adaptive_avg_pool1d(input, output_size):
    """Averages of `output_size` windows that cover (N, C, L) or (C, L)."""
    return _adaptive_avg(1, input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """Averages of windows that cover (N, C, H, W) or (C, H, W); None in output_size keeps a dimension."""
    return _adaptive_avg(2, input, output_size)


def adaptive_avg_pool3d(input, output_size):
    """Averages of windows that cover (N, C, D, H, W) or (C, D, H, W); None in output_size keeps a dimension."""
    return _adaptive_avg(3, input, output_size)


def _adaptive_max(dims, input, output_size):
    name = f"adaptive_max_pool{dims}d"
    target = _targets(name, input, output_size, dims)
    if dims == 1:
        _expect_1d(name, input)
    _check_adaptive(name, input, target, f"adaptive_max_pool{max(dims, 2)}d" + "_cpu" * (dims == 3), ":")
    if min(target) < 0:
        bad = next(n for n in target if n < 0)
        made = [*input.shape[:-dims], *[1] * (dims == 1), *target]
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {made}")
    return _of_rows(ops.adaptive_max_pool, input, (1, *target)) if dims == 1 else apply(ops.adaptive_max_pool, (input,), (T, target))


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """(adaptive_max_pool1d, where each maximum stands)."""
    return _adaptive_max(1, input, output_size)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """(adaptive_max_pool2d, where in its plane each maximum stands)."""
    return _adaptive_max(2, input, output_size)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """(adaptive_max_pool3d, where in its volume each maximum stands)."""
    return _adaptive_max(3, input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Maxima of `output_size` windows that cover (N, C, L) or (C, L), with their places if return_indices."""
    return _adaptive_max(1, input, output_size)[slice(None) if return_indices else 0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Maxima of windows that cover (N, C, H, W) or (C, H, W), with their places if return_indices; None keeps a dimension."""
    return _adaptive_max(2, input, output_size)[slice(None) if return_indices else 0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Maxima of windows that cover (N, C, D, H, W) or (C, D, H, W), with their places if return_indices; None keeps a dimension."""
    return _adaptive_max(3, input, output_size)[slice(None) if return_indices else 0]


function("adaptive_max_pool1d", method=False)(lambda input, output_size: _adaptive_max(1, input, output_size))


def _refuse_empty(name, shape, space):
    for d in range(1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{space}{list(shape)} with "
                               f"dimension {d} being empty.")


# -- fractional -------------------------------------------------------------------------------------------------------
def _fractional(dims, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        output_ratio = (output_ratio,) * dims if isinstance(output_ratio, (int, float)) else output_ratio
        if len(output_ratio) != dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(n * ratio) for n, ratio in zip(tuple(input.shape)[-dims:], output_ratio)]
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        samples = FUNCTIONS["rand"](batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)
    elif input.dim() in (dims + 1, dims + 2):
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        if samples.dim() != 3:
            raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
        if samples.size(0) < batch:
            raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
        if samples.size(1) != input.size(-dims - 1):
            raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
        if samples.size(2) != dims:
            raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.size(2)}.")
        samples = samples[:batch] if samples.size(0) > batch else samples
    many = "Ints" if dims == 2 else "three Ints"
    for what, given in (("kernel_size", kernel_size), ("output_size", output_size)):
        if isinstance(given, (tuple, list)) and len(given) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {many}")
    kernel, target = numbers(kernel_size, dims), numbers(output_size, dims)
    shape, least = tuple(input.shape), dims + 1
    if len(shape) not in (least, least + 1):
        raise RuntimeError(f"{name}(): Expected {least}D or {least + 1}D tensor, but got: {list(shape)}")
    _refuse_empty(f"{name}{'_out' if dims == 3 else ''}", shape, "")
    for what, n, k, out in zip(("time", "height", "width")[-dims:], shape[-dims:], kernel, target):
        if out + k - 1 > n - (dims == 3):                  # (torch's check is stricter in three dimensions)
            raise RuntimeError(f"{name}{'_out' if dims == 3 else ''}(): pool {what} {k} too large relative to input {what} {n}")
    if P.kind_of(input._ts_meta.dtype) == 3:
        raise NotImplementedError(f"\"{name}_out_frame\" not implemented for '{P.c_name(input._ts_meta.dtype)}'")
    return call(ops.fractional_max_pool, (input, samples, kernel, target))


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """(fractional_max_pool2d, where in its plane each maximum stands)."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """(fractional_max_pool3d, where in its volume each maximum stands)."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Maxima of windows at random places of (N, C, H, W) or (C, H, W), so many that the output has a size or a ratio of the input's.

    _random_samples: (N, C, 2) numbers in [0, 1) that choose the places.
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)[slice(None) if return_indices else 0]


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """As fractional_max_pool2d, of (N, C, D, H, W) or (C, D, H, W)."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)[slice(None) if return_indices else 0]


# -- unpooling --------------------------------------------------------------------------------------------------------
def _unpool(dims, input, indices, kernel_size, stride, padding, output_size):
    alert_nondeterministic(f"max_unpooling{max(dims, 2)}d_forward_out")
    kernel, stride, padding = [spread(v, dims) for v in (kernel_size, kernel_size if stride is None else stride, padding)]
    target = _unpooled_size(tuple(input.shape), kernel, stride, padding, output_size)
    shape, least = tuple(input.shape), dims + 1
    if indices._ts_meta.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {P.c_name(indices._ts_meta.dtype)}")
    if len(target) != dims:
        axes, given = ("two elements (height, width)", len(target) + (dims == 1)) if dims < 3 else (
            "three elements (depth, height, width)", len(target))
        raise RuntimeError(f"There should be exactly {axes} in output_size, but got {given} elements.")
    if len(shape) not in (least, least + 1):
        word = {1: "max_unpooling2d", 2: "max_unpooling2d", 3: "max_unpooling3d"}[dims]
        raise RuntimeError(f"Input to {word} should be a {least}d or {least + 1}d Tensor, but got a tensor with {len(shape)} dimensions.")
    if shape != tuple(indices.shape):
        ones = [1] * (dims == 1)
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({[*shape, *ones]}) but got indices tensor "
                           f"with shape: {[*indices.shape, *ones]}")
    _refuse_empty(f"max_unpooling{max(dims, 2)}d_forward_out_cpu", shape if dims > 1 else (*shape, 1), " ")
    shown = "x".join(map(str, target if dims > 1 else (*target, 1)))
    cells = math.prod(target)
    refused = lambda i: RuntimeError(f"Found an invalid max index: {i} (output volumes are of size {shown})")
    a = known(read(indices))
    bad = () if a is None else a[(a < 0) | (a >= cells)]
    if len(bad):
        raise refused(bad[-1])                 # torch tells of the last one
    in_range(indices, 0, cells, refused)
    if dims == 1:
        return call(ops.max_unpool, (input.unsqueeze(-1), indices.unsqueeze(-1), (*target, 1))).squeeze(-1)
    return call(ops.max_unpool, (input, indices, target))


def _unpooled_size(shape, kernel, stride, padding, output_size):
    dims = len(kernel)
    usual = tuple([(shape[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)])
    if output_size is None:
        return usual
    given = tuple(output_size)
    if len(given) == dims + 2:
        output_size = given = given[2:]
    if len(given) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                         f"'{len(given)}'")
    for d, (n, u, s) in enumerate(zip(given, usual, stride)):
        if not u - s < n < u + s:
            raise ValueError(f"invalid output_size \"{output_size}\" (dim {d} must be between {u - s} and {u + s})")
    return given


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The values of (N, C, L) or (C, L) at the places that max_pool1d told, zeros elsewhere."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The values of (N, C, H, W) or (C, H, W) at the places that max_pool2d told, zeros elsewhere."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The values of (N, C, D, H, W) or (C, D, H, W) at the places that max_pool3d told, zeros elsewhere."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
