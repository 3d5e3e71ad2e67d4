"""Quantization: numbers as the levels that a quantized tensor holds and back, and fake quantization, which does both."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .common import wrap_dim
from .registry import op


def _check_range(self, least, most):
    if P.kind_of(self.dtype) != 2:
        raise NotImplementedError(f"\"fake_quantize_tensor_cachemask_kernel_type_handling\" not implemented for '{P.c_name(self.dtype)}'")
    if least > most:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def _check_point(self, scale, zero_point, quant_min, quant_max):
    _check_range(self, quant_min, quant_max)
    if zero_point.__class__ is int and not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _check_channels(self, scale, zero_point, axis, quant_min, quant_max):
    _check_range(self, quant_min, quant_max)
    if zero_point.dtype not in (P.int32, P.float32, P.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {P.c_name(zero_point.dtype)}")
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError("scale and zero point need to be 1-D tensors")
    if scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.shape[0] != self.shape[wrap_dim(axis, self.ndim)]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")


def _check_range_of_learned(self, scale, zero_point, *rest):
    *_, quant_min, quant_max, _factor = rest
    _check_range(self, quant_min, quant_max)


def _level(x, scale, zero_point):
    return jnp.round(x.astype(jnp.float32) * (1 / scale.astype(jnp.float32))) + zero_point


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _fake(x, scale, zero_point, least, most):
    level = _level(x, scale, zero_point)
    return ((jnp.clip(jnp.where(jnp.isnan(level), least, level), least, most) - zero_point) * scale).astype(x.dtype)


def _fake_back(least, most, saved, g):
    passed, scale, zero_point = saved
    return g * passed, jnp.zeros_like(scale), jnp.zeros_like(zero_point)


def _fake_and_where(x, scale, zero_point, least, most):
    level = _level(x, scale, zero_point)
    return _fake(x, scale, zero_point, least, most), ((level >= least) & (level <= most), scale, zero_point)


_fake.defvjp(_fake_and_where, _fake_back)


def _rounded(x, scale, zero_point, least, most):
    """The numbers of the nearest levels, the first one for nan. The gradient is multiplied by whether the level was not cut off."""
    return _fake(x, scale, jnp.asarray(zero_point, jnp.float32), least, most)


@op("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
    method=False, out=False, nondiff=("scale", "zero_point"), grad="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0",
    pushes="_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    check=_check_point)
def fake_quantize_tensor_qparams(self, scale, zero_point, quant_min, quant_max):
    """Numbers rounded to (level - zero_point) * scale with a whole level between quant_min and quant_max."""
    return _rounded(self, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max)


@op("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", method=False,
    out=False, grad="FakeQuantizePerTensorAffineCachemaskBackward0", pushes="fake_quantize_per_tensor_affine_cachemask", check=_check_point)
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    """Numbers rounded to (level - zero_point) * scale with a whole level between quant_min and quant_max."""
    return _rounded(self, scale, zero_point, quant_min, quant_max)


@op("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor",
    method=False, out=False, nondiff=("scale", "zero_point"), grad="FakeQuantizePerChannelAffineCachemaskBackward0",
    pushes="fake_quantize_per_channel_affine_cachemask", check=_check_channels)
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    """The same with a scale and a zero point for each index along `axis`."""
    shape = [-1 if d == wrap_dim(axis, self.ndim) else 1 for d in range(self.ndim)]
    return _rounded(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


@op("_fused_moving_avg_obs_fq_helper.fixed(Tensor self, Tensor scale, Tensor zero_point, int? axis, int quant_min, int quant_max, bool on) "
    "-> Tensor", method=False, out=False, function=False, nondiff=("scale", "zero_point"), grad="FusedMovingAvgObsFqHelperBackward0")
def fused_fake_quantize(self, scale, zero_point, axis, quant_min, quant_max, on):
    """Numbers rounded with one scale (axis None), or with one for each index along an axis; the numbers themselves if not `on`."""
    if not on:
        return self
    shape = () if axis is None else [-1 if d == wrap_dim(axis, self.ndim) else 1 for d in range(self.ndim)]
    return _rounded(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def _learned(x, scale, zero_point, factor, least, most):
    """Rounded numbers whose scale and zero point, of x's rank, have gradients, times `factor`."""
    return _rounded(x, scale, jnp.clip(jnp.round(zero_point), least, most), least, most)


def _learned_back(least, most, saved, g):
    x, scale, zero_point, factor = saved
    point = jnp.trunc(jnp.clip(zero_point + 0.5, least, most))
    level = jnp.round(point + x * (1 / scale))
    low, high = level < least, level > most
    made = (jnp.clip(level, least, most) - point) * scale
    of_scale = jnp.where(low, g * (least - point), jnp.where(high, g * (most - point), g * (made - x) * (1 / scale))) * factor
    of_point = jnp.where(low | high, g * -1 * scale * factor, 0)
    over = tuple([d for d in range(x.ndim) if scale.ndim == 0 or scale.shape[d] == 1 and x.shape[d] != 1])
    total = [jnp.sum(t, over, keepdims=scale.ndim > 0).astype(scale.dtype) for t in (of_scale, of_point)]
    return (g * ~(low | high), *total, jnp.zeros_like(factor))


_learned.defvjp(lambda x, scale, zero_point, factor, least, most: (_learned(x, scale, zero_point, factor, least, most),
                                                                   (x, scale, zero_point, factor)), _learned_back)


@op("_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float "
    "grad_factor=1.0) -> Tensor", method=False, out=False, grad="FakeQuantizeLearnablePerTensorAffineBackward0",
    check=_check_range_of_learned)
def learnable_per_tensor(self, scale, zero_point, quant_min, quant_max, grad_factor):
    """fake_quantize_per_tensor_affine whose scale and zero point have gradients, times grad_factor."""
    return _learned(self, scale.reshape(()), zero_point.reshape(()), grad_factor.astype(self.dtype), quant_min, quant_max)


@op("_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, "
    "float grad_factor=1.0) -> Tensor", method=False, out=False, grad="FakeQuantizeLearnablePerChannelAffineBackward0",
    check=_check_range_of_learned)
def learnable_per_channel(self, scale, zero_point, axis, quant_min, quant_max, grad_factor):
    """The same with a scale and a zero point for each index along `axis`."""
    shape = [-1 if d == wrap_dim(axis, self.ndim) else 1 for d in range(self.ndim)]
    return _learned(self, scale.reshape(shape), zero_point.reshape(shape), grad_factor.astype(self.dtype), quant_min, quant_max)


# -- levels of quantized tensors (see tensor/quantized), with the roundings of torch's kernels ------------------------------
_PRIVATE = dict(function=False, method=False, out=False)


def _per_channel(x, values, axis):
    return values.reshape([-1 if d == axis else 1 for d in range(x.ndim)])


def _cut(level, least, most, dtype, of_nan):
    """Levels as integers between least and most; `of_nan` for nan."""
    if dtype == P.int32:                       # float32 does not have the largest one
        level = level.astype(jnp.float64)
    return jnp.clip(jnp.where(jnp.isnan(level), of_nan, level), least, most).astype(dtype)


@op("_levels(Tensor self, float scale, float zero_point, ScalarType dtype, int least, int most, str how) -> Tensor", **_PRIVATE)
def levels(self, scale, zero_point, dtype, least, most, how):
    """round(self / scale + zero_point). how: "apart" adds the zero point after rounding, "fused" rounds product and sum once before."""
    inverse = (1 / scale.astype(jnp.float64)).astype(jnp.float32) if how == "apart" else 1 / scale.astype(jnp.float32)
    x, point = self * inverse, zero_point.astype(jnp.float32)
    if how == "fused":
        level = jnp.round((self.astype(jnp.float64) * inverse.astype(jnp.float64) + point.astype(jnp.float64)).astype(jnp.float32))
    else:
        level = jnp.round(x) + point if how == "apart" else jnp.round(x + point)
    if most < 127:                             # a conversion to an integer that is none of the vector unit's
        level = jnp.where(jnp.abs(x) < 2. ** 63, level, least)
    return _cut(level, least, most, dtype, most if dtype != P.int32 else least)


@op("_levels.channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype, int least, int most) -> Tensor",
    **_PRIVATE)
def levels_channel(self, scales, zero_points, axis, dtype, least, most):
    """The same with a scale and a zero point for each index along `axis`."""
    scaled = self * _per_channel(self, 1 / scales.astype(jnp.float32), axis)
    level = jnp.round(scaled + _per_channel(self, zero_points.astype(jnp.float32), axis))
    return _cut(level, least, most, dtype, 0 if dtype != P.int32 else least)


@op("_unlevelled(Tensor self, float scale, Scalar zero_point) -> Tensor", **_PRIVATE)
def unlevelled(self, scale, zero_point):
    """(level - zero_point) * scale in float32."""
    return (self.astype(jnp.int32) - zero_point.astype(jnp.int32)).astype(jnp.float32) * scale.astype(jnp.float32)


@op("_unlevelled.channel(Tensor self, Tensor scales, Tensor zero_points, int axis) -> Tensor", **_PRIVATE)
def unlevelled_channel(self, scales, zero_points, axis):
    """The same with a scale and a zero point for each index along `axis`."""
    points = _per_channel(self, zero_points, axis)
    if P.kind_of(points.dtype) == 2:
        shifted = self.astype(jnp.float32) - points.astype(jnp.float32)
    else:
        shifted = (self.astype(jnp.int32) - points.astype(jnp.int32)).astype(jnp.float32)
    return shifted * _per_channel(self, scales.astype(jnp.float32), axis)


@op("_fused_unlevelled(Tensor self, float scale, float zero_point) -> Tensor", **_PRIVATE)
def fused_unlevelled(self, scale, zero_point):
    """level * scale - zero_point * scale in float32, where the second product is rounded and the first is not,
    as a fused instruction does."""
    s, z = scale.astype(jnp.float32), zero_point.astype(jnp.float32)
    return (self.astype(jnp.float64) * s.astype(jnp.float64) + (s * -z).astype(jnp.float64)).astype(jnp.float32)


@op("_requantized(Tensor self, Tensor multiplier, float zero_point, ScalarType dtype, int least, int most, bool apart) -> Tensor",
    **_PRIVATE)
def requantized(self, multiplier, zero_point, dtype, least, most, apart):
    """round(self * multiplier + zero_point) of float32 sums, cut off at least and most;
    the zero point is added after rounding if `apart`."""
    x, zero_point = self * multiplier, zero_point.astype(jnp.float32)
    return _cut(jnp.round(x) + zero_point if apart else jnp.round(x + zero_point), least, most, dtype, least)


@op("_fused_scaled(Tensor self, Tensor scale, Tensor? bias) -> Tensor", **_PRIVATE)
def fused_scaled(self, scale, bias):
    """self * scale + bias of float32 numbers, rounded once."""
    out = self.astype(jnp.float64) * scale.astype(jnp.float64)
    return (out if bias is None else out + bias.astype(jnp.float64)).astype(jnp.float32)


_SMALL = float(np.float32(6.1e-5))


@op("_chosen_parameters(Tensor low, Tensor high, int least, int most, bool symmetric) -> (Tensor scale, Tensor zero_point)", **_PRIVATE)
def chosen_parameters(low, high, least, most, symmetric):
    """The scales, float64, and zero points with which levels from `least` to `most` hold the float32 numbers from `low` to `high`, 0
    exactly among them. symmetric: numbers of both signs have the zero point in the middle."""
    n, wide = most - least, jnp.float64
    both = (low < 0) & (high > 0)
    if symmetric:
        below, above = -(n // 2 + 1), n // 2
        largest = jnp.maximum(jnp.abs(low / jnp.float32(below)), jnp.abs(high / jnp.float32(above))).astype(wide)
        low, high = jnp.where(both, (largest * below).astype(jnp.float32), low), jnp.where(both,
                                                                                           (largest * above).astype(jnp.float32), high)
    low, high = jnp.minimum(low, 0), jnp.maximum(high, 0)
    scale = (high.astype(wide) - low.astype(wide)) / n
    narrow = scale.astype(jnp.float32)
    scale = jnp.where((narrow == 0) | jnp.isinf(1 / narrow), 0.1, scale)
    small = scale < _SMALL
    more = jnp.float32(_SMALL) / jnp.where(small, scale.astype(jnp.float32), 1)
    end = jnp.float32(np.float32(_SMALL) * np.float32(n))
    low, high = (jnp.where(small, jnp.where(high == 0, -end, jnp.where(low == 0, low, low * more)), low),
                 jnp.where(small, jnp.where(low == 0, end, jnp.where(high == 0, high, high * more)), high))
    scale = jnp.where(small, _SMALL, scale)
    low, high = low.astype(wide) / scale, high.astype(wide) / scale
    point = jnp.where(abs(least) - jnp.abs(low) < abs(most) - jnp.abs(high), least - low, most - high)
    if symmetric:
        point = jnp.where(both, (least + most) / 2, point)
    return scale, jnp.clip(jnp.round(point), least, most).astype(jnp.int64)
