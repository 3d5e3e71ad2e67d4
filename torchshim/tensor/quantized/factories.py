"""How quantized tensors are made: of floating ones, of integers, and with nothing in them yet."""
from __future__ import annotations

import math

import numpy as np

from ..api.bind import FUNCTIONS as F
from ..core.dispatch import apply_any
from ..core.dtype import ALL as DTYPES, dtype as dtype_class
from ..core.handle import TensorBase
from ...ops.promotion import c_name
from ...ops.registry import OPS, T
from .base import C_NAMES, LEVELS, PerChannel, PerTensor, Quantized, dequantized, handles, like, made, no_kernel, number, quantized

_OF_INTS = {DTYPES["uint8"]: DTYPES["quint8"], DTYPES["int8"]: DTYPES["qint8"], DTYPES["int32"]: DTYPES["qint32"]}


def checked(dtype):
    """A quantized dtype; torch's error for any other."""
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"quantize_per_tensor(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if dtype not in LEVELS:
        raise RuntimeError(f"ScalarType {c_name(dtype.np)} is not supported in new_qtensor.")
    return dtype


def _check_float(x):
    if x.dtype is not DTYPES["float32"]:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {c_name(x._ts_meta.dtype)}")


def _check_point(function, zero_point, dtype):
    _, least, most = LEVELS[dtype]
    most = max(most, 255) if least == 0 else most              # those of less than a byte are looked at as bytes
    if zero_point > most:
        raise RuntimeError(f"{function} zero_point {zero_point} is above upper bound.")
    if zero_point < least:
        raise RuntimeError(f"{function} zero_point {zero_point} is below lower bound.")


def quantize_per_tensor(input, scale, zero_point, dtype):
    """`input`, float32, rounded to levels; a list of tensors, with tensors of scales and zero points, to a tuple of quantized ones."""
    if isinstance(input, (list, tuple)):
        return tuple([quantize_per_tensor(x, s, z, dtype) for x, s, z in zip(input, scale, zero_point)])
    dtype = checked(dtype)
    _check_float(input)
    q = PerTensor(float(number(scale)), int(number(zero_point)))
    _check_point("quantize_tensor_per_tensor_affine", q.zero_point, dtype)
    return quantized(input, q, dtype)


def _channels(what, shape, scales, zero_points, axis):
    """A PerChannel, with torch's errors where it does not fit a tensor of `shape`."""
    if scales.dim() != 1 or zero_points.dim() != 1:
        raise RuntimeError(f"{'scale' if scales.dim() != 1 else 'zero_points'} tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < len(shape):
        raise RuntimeError(f"Channel axis out of range in per channel affine {what}. Got: {axis}Expected: [0, {len(shape)})")
    if scales.numel() != shape[axis]:
        raise RuntimeError(f"length of scales must equal to channel, expected {shape[axis]} got, {scales.numel()}")
    if not scales.is_floating_point():
        raise RuntimeError("scale tensor must be floating point")
    if zero_points.is_floating_point():
        wide = DTYPES["float32"], DTYPES["float32"]
    else:
        wide = DTYPES["float64"], DTYPES["int64"]
    return PerChannel(*[t.detach().to(d) for t, d in zip((scales, zero_points), wide)], axis)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """`input`, float32, rounded to levels that differ along an axis."""
    dtype = checked(dtype)
    _check_float(input)
    q = _channels("quantization", input.shape, scales, zero_points, axis)
    if not zero_points.is_floating_point() and zero_points.numel():
        for point in zero_points.tolist():
            _check_point("quantize_tensor_per_channel_affine", point, dtype)
    return quantized(input, q, dtype)


def chosen(low, high, least, most, symmetric=False):
    """(scales, zero points) as tensors for the ranges from `low` to `high`, float32 tensors; see ops/quantization.py."""
    return apply_any(OPS[None, "_chosen_parameters"], (low, high), (T, T, least, most, symmetric))


def parameters_of(x, dtype, reduce_range=False):
    """The PerTensor that holds all numbers of a float32 tensor."""
    _, least, most = LEVELS[dtype]
    if reduce_range:
        least, most = math.trunc(least / 2), math.trunc(most / 2)
    low, high = F["aminmax"](x.detach()) if x.numel() else (F["zeros"](()), F["zeros"](()))
    scale, point = chosen(low, high, least, most)
    return PerTensor(scale.item(), point.item())


def fused_moving_avg_obs_fake_quant(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point,
                                    averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant=False, symmetric_quant=False):
    """`input` as quantized numbers would be, with the range that its running extremes give; observer_on, fake_quant_on: tensors of one
    number that say whether these and the rounding take part. running_min, running_max, scale and zero_point are written in place."""
    return fused_helper(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
                        quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant)[0]


def fused_helper(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const, quant_min,
                 quant_max, ch_axis, per_row_fake_quant=False, symmetric_quant=False):
    """(output, where its level was not cut off)."""
    if per_row_fake_quant:
        ch_axis = ch_axis % max(input.dim(), 1)
        n = input.shape[ch_axis]
        for t, fill in ((running_min, math.inf), (running_max, -math.inf), (scale, None), (zero_point, None)):
            if t.shape[:1] != (n,):
                t.resize_(n)
                if fill is not None:
                    t.fill_(fill)
    if observer_on.item():
        x = input.detach()
        if per_row_fake_quant:
            x = x.transpose(0, ch_axis).flatten(1) if x.dim() > 1 else x.reshape(-1, 1)
            low, high = F["aminmax"](x, dim=1)
        else:
            low, high = F["aminmax"](x)
        for running, now in ((running_min, low), (running_max, high)):
            running.copy_(F["where"](F["isinf"](running), now, running + averaging_const * (now - running)))
    on = bool(fake_quant_on.item())
    if observer_on.item() and on:
        s, z = chosen(running_min.float(), running_max.float(), quant_min, quant_max, symmetric_quant)
        scale.copy_(s)
        zero_point.copy_(z)
    axis = ch_axis if per_row_fake_quant else None
    out = apply_any(OPS[None, "_fused_moving_avg_obs_fq_helper.fixed"], (input, scale, zero_point),
                    (T, T, T, axis, quant_min, quant_max, on))
    if not on:
        return out, F["ones_like"](input, dtype=DTYPES["bool"])
    shape = [-1 if d == axis else 1 for d in range(input.dim())] if per_row_fake_quant else ()
    level = (input.detach() * (1 / scale.reshape(shape))).round() + zero_point.reshape(shape)
    return out, (level >= quant_min) & (level <= quant_max)


def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """`input` rounded to levels that its own range decides; in float16 simply in that dtype."""
    if dtype is DTYPES["float16"]:
        return input.to(dtype)
    if dtype not in (DTYPES["qint8"], DTYPES["quint8"]):
        raise RuntimeError(f"dtype {C_NAMES.get(dtype) or c_name(dtype.np)} not supported")
    _check_float(input)
    return quantized(input, parameters_of(input, dtype, reduce_range), dtype)


def _of_ints(input):
    if input.dtype not in _OF_INTS:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    return input.detach().clone(), _OF_INTS[input.dtype]


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    """A quantized tensor with the levels of an integer tensor."""
    ints, dtype = _of_ints(input)
    return made(ints, PerTensor(float(number(scale)), int(number(zero_point))), dtype)


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    """A quantized tensor with the levels of an integer tensor, and with scales and zero points along an axis."""
    ints, dtype = _of_ints(input)
    return made(ints, _channels("quantization", ints.shape, scale, zero_point, axis), dtype)


def _nothing(size, dtype, device=None, memory_format=None):
    if dtype not in LEVELS:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    options = {} if memory_format is None or memory_format.name == "preserve_format" else {"memory_format": memory_format}
    return F["empty"](*size, dtype=LEVELS[dtype].held, device=device, **options)


def _sizes(size):
    return size[0] if len(size) == 1 and not isinstance(size[0], int) else size


def _empty_affine_quantized(*size, scale=1, zero_point=0, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None,
                            requires_grad=False):
    """A quantized tensor whose levels are any."""
    return made(_nothing((_sizes(size),), dtype, device, memory_format), PerTensor(float(scale), int(zero_point)), dtype)


def _empty_per_channel_affine_quantized(*size, scales, zero_points, axis, dtype=None, layout=None, device=None, pin_memory=None,
                                        memory_format=None, requires_grad=False):
    """The same with scales and zero points along an axis."""
    ints = _nothing((_sizes(size),), dtype, device, memory_format)
    return made(ints, _channels("quantization", ints.shape, scales, zero_points, axis), dtype)


@handles("empty_quantized")
def empty_quantized(size, qtensor, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """A quantized tensor whose levels are any, with the scale and zero point of another."""
    return like(qtensor, _nothing((size,), qtensor._dtype, device, memory_format))


@handles("empty_like", "new_empty")
def empty_like(input, *size, dtype=None, layout=None, device=None, memory_format=None, pin_memory=False, requires_grad=False):
    if dtype not in (None, input._dtype):
        raise RuntimeError("It is currently not supported to specify a dtype that doesn't match the input tensor's dtype via empty_like.  "
                           f"Specified: {dtype} Input tensor's dtype: {input._dtype}")
    if size:
        raise NotImplementedError("torchshim: new_empty of a quantized tensor; torch gives one without a scale")
    return like(input, F["empty_like"](input._ints, memory_format=memory_format) if memory_format else F["empty_like"](input._ints))


@handles("full_like", "ones_like", "new_full", "new_ones")
def full_like(input, fill_value=1., *, dtype=None, layout=None, device=None, memory_format=None, pin_memory=False, requires_grad=False):
    """The number nearest to `fill_value` everywhere."""
    value = F["full"](tuple(input.shape), float(number(fill_value)), dtype=DTYPES["float32"])
    return quantized(value, input._q, input._dtype)


@handles("zeros_like", "new_zeros", "zero_")
def zeros_like(input, *args, **kwargs):
    raise no_kernel("zero_")


@handles("rand_like", "uniform_")
def rand_like(input, *args, **kwargs):
    raise no_kernel("uniform_")


@handles("new_tensor")
def new_tensor(self, *args, **kwargs):
    raise RuntimeError("store_scalar: invalid type")


@handles("quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic")
def _again(input, *args, **kwargs):
    """torch's refusal to quantize what is quantized."""
    for x in (input, *args, *kwargs.values()):
        if isinstance(x, TensorBase) and x.__class__ is Quantized:
            raise RuntimeError(f"Quantize only works on Float Tensor, got {C_NAMES[x._dtype]}")


handles("dequantize")(lambda tensor: dequantized(tensor) if isinstance(tensor, TensorBase) else [
    dequantized(t) if t.__class__ is Quantized else t.dequantize() for t in tensor])


def choose_qparams_optimized(input, numel, n_bins, ratio, bit_width):
    """(largest, smallest) of the first `numel` float32 numbers, moved towards each other in steps of 1 / n_bins while what rounding to
    `bit_width` bits changes gets less; at most until `1 - ratio` of the range is left. Looks at the values."""
    if input.dtype.np != np.float32:
        raise RuntimeError(f"expected scalar type Float but found {c_name(input.dtype.np)}")
    if not 0 <= numel <= input.numel():
        raise RuntimeError("numel is out of the bound of input tensor")
    x, f = input.detach().numpy().reshape(-1)[:numel], np.float32
    if not numel:
        return F["zeros"](1), F["zeros"](1)
    low, high = x.min(), x.max()
    with np.errstate(all="ignore"):
        step = (high - low) / f(n_bins)
        least = f(f(n_bins) * (1.0 - float(f(ratio)))) * step
        now = _rounded_away(x, low, high, bit_width)
        lowest, highest, best = low, high, now
        while low + least < high:
            left, right = _rounded_away(x, low + step, high, bit_width), _rounded_away(x, low, high - step, bit_width)
            if now < left and now < right and now < best:
                best, lowest, highest = now, low, high
            low, high, now = (low + step, high, left) if left < right else (low, high - step, right)
    return F["full"]((1,), float(highest)), F["full"]((1,), float(lowest))


def _rounded_away(x, low, high, bits):
    """The root of the sum of squares by which numbers of so few bits differ; the offset and the scale are half numbers."""
    low = np.float32(np.float16(low))
    spread, levels = high - low, np.float32((1 << bits) - 1)
    scale = np.float32(np.float16(spread / levels)) if spread else np.float32(1)
    inverse = np.float32(1) if not scale else np.float32(1) / scale
    near = np.maximum(np.float32(0), np.minimum(np.rint((x - low) * inverse), levels)) * scale + low
    return np.sqrt(np.sum(np.square(x - near), dtype=np.float32))
