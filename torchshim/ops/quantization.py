"""Fake quantization: numbers rounded to what a quantized tensor could hold. There are no quantized tensors."""
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
