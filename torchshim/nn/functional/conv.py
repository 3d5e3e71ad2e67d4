"""Convolutions: torch's arguments made those of the one operator `convolution`."""
from __future__ import annotations

from collections.abc import Iterable

from ...ops.nn import conv as ops
from ...ops.registry import T
from ...tensor.api.bind import function, type_name
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import TensorBase
from ...tensor.api.views import warn_once
from .padding import pad as padded


def numbers(value, dims):
    """One integer for every dimension, or as many as were given."""
    if value.__class__ is int:
        return (value,) * dims
    if isinstance(value, (tuple, list)):
        if bool in map(type, value):
            raise TypeError(f"expected a tuple of ints, but found element of type bool at pos {[*map(type, value)].index(bool)}")
        value = tuple([v.__index__() for v in value])
        return value * dims if len(value) == 1 else value
    if value.__class__ is bool:
        raise TypeError("expected an int or a tuple of ints, not bool")
    return (value.__index__(),) * dims


def spread(value, dims):
    """The same where torch's function is written in Python: all that can be iterated is taken, and left as long as it is."""
    if value.__class__ is not int and isinstance(value, Iterable):
        return tuple([v.__index__() for v in value])
    return numbers(value, dims)


def _tensors(name, input, weight, bias):
    for at, (what, t) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(t, TensorBase) and not (t is None and what == "bias"):
            raise TypeError(f"{name}() received an invalid combination of arguments - argument '{what}' (position {at}) must be Tensor, "
                            f"not {type_name(t)}")


def _batched(name, dims, input):
    """`input` with a batch's dimension."""
    n = input._ts_meta.ndim
    if n == dims + 2:
        return input
    if n != dims + 1:
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                           f"{list(input.shape)}")
    return input.unsqueeze(0)


def _convolve(name, dims, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The operator for one name; an input without a batch gets one for the time being."""
    if not isinstance(input, TensorBase) or not isinstance(weight, TensorBase) or bias is not None and not isinstance(bias, TensorBase):
        _tensors(name, input, weight, bias)
    n = input._ts_meta.ndim
    input = _batched(name, dims, input)
    if weight._ts_meta.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    many = weight._ts_meta.ndim - 2 if dims == 1 else 1        # torch makes as many of a list of one number as the weight wants
    lists = [numbers(v, dims) for v in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = [v * many if len(v) == 1 else v for v in lists]
    layout = (T, T, None if bias is None else T, stride, padding, dilation, transposed, output_padding, groups.__index__())
    y = apply(ops.convolution, (input, weight) if bias is None else (input, weight, bias), layout)
    return y.squeeze(0) if n == dims + 1 else y


def _forward(name, dims, input, weight, bias, stride, padding, dilation, groups):
    if padding.__class__ is str:
        if padding == "same":
            whole = _batched(name, dims, input)._ts_meta
            if weight.dim() < 3:
                raise RuntimeError("weight should have at least three dimensions")
            if any(s != 1 for s in numbers(stride, dims)):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            if weight.dim() != dims + 2:
                raise RuntimeError(f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, "
                                   f"but got {whole.ndim}-dimensional input of size {list(whole.shape)} instead")
            padding, more = ops.same_padding(weight.shape[2:], numbers(dilation, dims))
            if any(more):
                warn_once("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
                          "created")
                # torch pads the longer side beforehand
                input = padded(input, [n for m in reversed(more) for n in (0, m)])
        elif padding == "valid":
            padding = 0
        else:
            raise RuntimeError(f"Invalid padding string: '{padding}'")
    elif isinstance(input, TensorBase) and input._ts_meta.ndim not in (dims + 1, dims + 2) and isinstance(bias, TensorBase):
        ops.check_bias(input._ts_meta, bias._ts_meta)          # torch looks at the bias before it counts dimensions
    return _convolve(name, dims, input, weight, bias, stride, padding, dilation, False, 0, groups)


@function(method=False)
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, L) or (C, L) with (out, C / groups, K). padding: a width, "same" or "valid"."""
    return _forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@function(method=False)
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with (out, C / groups, KH, KW). padding: widths, "same" or "valid"."""
    return _forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@function(method=False)
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with (out, C / groups, KD, KH, KW). padding: as in conv2d."""
    return _forward("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@function(method=False)
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv1d in its input: (N, C, L) with a weight (C, out / groups, K)."""
    return _convolve("conv_transpose1d", 1, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


@function(method=False)
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv2d in its input: (N, C, H, W) with a weight (C, out / groups, KH, KW)."""
    return _convolve("conv_transpose2d", 2, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


@function(method=False)
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv3d in its input: (N, C, D, H, W) with a weight (C, out / groups, KD, KH, KW)."""
    return _convolve("conv_transpose3d", 3, input, weight, bias, stride, padding, dilation, True, output_padding, groups)

