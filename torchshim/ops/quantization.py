"""Quantization: numbers as the levels that a quantized tensor holds and back, and fake quantization, which does both."""
from __future__ import annotations

import jax
import jax.numpy as jnp

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


def _rounded(x, scale, zero_point, least, most):
    """The numbers of the nearest levels, the first one for nan. The gradient passes where the level was not cut off."""
    fixed = jax.lax.stop_gradient(x)
    level = jnp.round(fixed.astype(jnp.float32) * (1 / scale.astype(jnp.float32))) + zero_point
    made = (jnp.clip(jnp.where(jnp.isnan(level), least, level), least, most) - zero_point) * scale
    return made.astype(x.dtype) + jnp.where((level >= least) & (level <= most), x - fixed, jnp.zeros((), x.dtype))


@op("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
    method=False, out=False, nondiff=("scale", "zero_point"), grad="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0",
    check=_check_point)
def fake_quantize_tensor_qparams(self, scale, zero_point, quant_min, quant_max):
    """Numbers rounded to (level - zero_point) * scale with a whole level between quant_min and quant_max."""
    return _rounded(self, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max)


@op("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", method=False,
    out=False, grad="FakeQuantizePerTensorAffineCachemaskBackward0", check=_check_point)
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    """Numbers rounded to (level - zero_point) * scale with a whole level between quant_min and quant_max."""
    return _rounded(self, scale, zero_point, quant_min, quant_max)


@op("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor",
    method=False, out=False, nondiff=("scale", "zero_point"), grad="FakeQuantizePerChannelAffineCachemaskBackward0", check=_check_channels)
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    """The same with a scale and a zero point for each index along `axis`."""
    shape = [-1 if d == wrap_dim(axis, self.ndim) else 1 for d in range(self.ndim)]
    return _rounded(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


# -- levels of quantized tensors (see tensor/quantized), with the roundings of torch's kernels ------------------------------
_PRIVATE = dict(function=False, method=False, out=False)


def _per_channel(x, values, axis):
    return values.reshape([-1 if d == axis else 1 for d in range(x.ndim)])


def _cut(level, least, most, dtype, of_nan):
    """Levels as integers between least and most; `of_nan` for nan."""
    if dtype == P.int32:                       # float32 does not have the largest one
        level = level.astype(jnp.float64)
    return jnp.clip(jnp.where(jnp.isnan(level), of_nan, level), least, most).astype(dtype)


@op("_levels(Tensor self, float scale, float zero_point, ScalarType dtype, int least, int most, bool apart) -> Tensor", **_PRIVATE)
def levels(self, scale, zero_point, dtype, least, most, apart):
    """round(self / scale + zero_point), with the zero point added after the rounding if `apart`."""
    x, zero_point = self * (1 / scale.astype(jnp.float32)), zero_point.astype(jnp.float32)
    level = jnp.round(x) + zero_point if apart else jnp.round(x + zero_point)
    if most < 127:                             # a conversion to an integer that is none of the vector unit's
        level = jnp.where(jnp.abs(x) < 2. ** 63, level, least)
    return _cut(level, least, most, dtype, most if dtype != P.int32 else least)


@op("_levels.channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype, int least, int most) -> Tensor", **_PRIVATE)
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
    """level * scale - zero_point * scale in float32, where the second product is rounded and the first is not, as a fused instruction does."""
    s, z = scale.astype(jnp.float32), zero_point.astype(jnp.float32)
    return (self.astype(jnp.float64) * s.astype(jnp.float64) + (s * -z).astype(jnp.float64)).astype(jnp.float32)


@op("_requantized(Tensor self, Tensor multiplier, float zero_point, ScalarType dtype, int least, int most) -> Tensor", **_PRIVATE)
def requantized(self, multiplier, zero_point, dtype, least, most):
    """round(self * multiplier) + zero_point of float32 sums, cut off at least and most."""
    return _cut(jnp.round(self * multiplier) + zero_point.astype(jnp.float32), least, most, dtype, least)
