"""Fourier transforms: complex to complex, real to half-complex and back, and the sums of overlapping frames of `istft`.

The three transforms are torch's own kernels; everything in torch.fft is made of them (tensor/api/fft.py). They cut or pad their input
to the sizes wanted, transform, and scale.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import contiguous_strides
from ..engine.interpret import spectra
from . import promotion as P
from .layout import kept_strides
from .registry import op

DECLARED = dict(function=False, method=False)


def promoted(x, complex_):
    """x as a transform takes it: floating, complex where the transform is."""
    if P.compute_dtype(x.dtype) != x.dtype:
        raise RuntimeError(f"Unsupported dtype {P.c_name(x.dtype)}")
    if P.kind_of(x.dtype) < 2:
        x = x.astype(P.default_float)
    return x.astype(P.complex128 if x.dtype == P.float64 else P.complex64) if complex_ and P.kind_of(x.dtype) == 2 else x


def resized(x, dims, sizes):
    """x cut or filled with zeros to `sizes` along `dims`; -1 leaves a dimension as it is."""
    start, pads = [slice(None)] * x.ndim, [(0, 0)] * x.ndim
    for d, n in zip(dims, sizes):
        if n >= 0:
            start[d], pads[d] = slice(n), (0, max(0, n - x.shape[d]))
    return jnp.pad(x[tuple(start)], pads) if any(p != (0, 0) for p in pads) else x[tuple(start)]


def scaled(x, scale, n):
    """Divided by the number of points ("n") or its root ("root"); "none" leaves it."""
    return x if scale == "none" or not x.size else x * np.asarray(1 / (n if scale == "n" else math.sqrt(n)), x.real.dtype)


def _given(m, dims, sizes, kind):
    """The strides of what is transformed: the operand's, or those of a copy that was padded, or cast to dtypes of that kind."""
    if any([n > m.shape[d] for d, n in zip(dims, sizes)]) or not m.numel:
        return contiguous_strides(m.shape)
    return kept_strides(m) or contiguous_strides(m.shape) if P.kind_of(m.dtype) < kind else m.strides


def transform_strides(sort):
    """torch's layout of a transform: the dimensions that are transformed move innermost. `sort` orders these by stride."""
    def strides(inst, m, dims, sizes, *_):
        out = inst.out_metas[0]
        given = _given(m, dims, sizes, 3)
        if sort:
            dims = sorted(dims, key=lambda d: -given[d])
        elif len(dims) > 1:                    # all but the last are transformed before
            rest = sorted((d for d in range(m.ndim) if d not in dims[:-1]), key=lambda d: -given[d])
            order = rest + sorted(dims[:-1], key=lambda d: -given[d])
            place = contiguous_strides(tuple(m.shape[d] for d in order))
            given = tuple(place[order.index(d)] for d in range(m.ndim))
            dims = dims[-1:]
        order = sorted((d for d in range(m.ndim) if d not in dims), key=lambda d: -given[d]) + list(dims)
        place = contiguous_strides(tuple(out.shape[d] for d in order))
        return tuple(place[order.index(d)] for d in range(m.ndim))
    return strides


def over(dims, x):
    return math.prod(x.shape[d] for d in dims)


def _known(inst):
    """(dimensions, sizes, the number to multiply with or None) of a transform that NumPy does itself; None for others."""
    (m,), (_, dims, sizes, scale, last) = inst.in_metas, inst.layout
    sizes = tuple([m.shape[d] if n < 0 else n for d, n in zip(dims, sizes)])
    if m.dtype not in _KNOWN or not m.numel or not dims or 0 in sizes or len(set(dims)) < len(dims):
        return None
    n = math.prod(sizes[:-1]) * (sizes[-1] if last.__class__ is bool else last)
    return dims, sizes, None if scale == "none" else 1 / (n if scale == "n" else math.sqrt(n))


_KNOWN = P.float32, P.float64, P.complex64, P.complex128


def _complex_on_host(inst):
    known, forward = _known(inst), inst.layout[4]
    if known is None:
        return None
    if forward and P.kind_of(inst.in_metas[0].dtype) == 2:
        return spectra.of_real(*known, inst.out.dtype)
    return spectra.of_complex(*known, inst.out.dtype, forward)


def _real_one(inst, wrt):
    """torch's formula asks the real operand how long it was; over several dimensions fftn makes it complex before."""
    several = inst.op.name == "fft_c2c" and len(inst.layout[1]) > 1
    return (~0,) if P.kind_of(inst.in_metas[0].dtype) == 2 and not several else None


def _resized_one(inst):
    """What torch cuts or pads before is its own."""
    (m,), (_, dims, sizes) = inst.in_metas, inst.layout[:3]
    return {0: None} if any([0 <= n != m.shape[d] for d, n in zip(dims, sizes)]) else {}


@op("fft_c2c(Tensor self, int[] dim, int[] s, str scale, bool forward) -> Tensor", **DECLARED, grad="FftC2CBackward0", grad_back=True,
    strides=transform_strides(True), host=_complex_on_host, saves=_real_one, seen=_resized_one)
def fft_c2c(self, dim, s, scale, forward):
    """The transform of complex numbers, or its inverse."""
    x = resized(promoted(self, True), dim, s)
    n = over(dim, x)
    if not x.size or not dim:
        return x
    return scaled(jnp.fft.fftn(x, axes=dim) if forward else jnp.fft.ifftn(x, axes=dim, norm="forward"), scale, n)


def _last_kept(inst, m, dims, sizes, *rest):
    """The last dimension stays last, the others are ordered by stride."""
    strides = _given(m, dims, sizes, 2)
    dims = sorted(dims[:-1], key=lambda d: -strides[d]) + list(dims[-1:])
    out = inst.out_metas[0]
    order = sorted((d for d in range(m.ndim) if d not in dims), key=lambda d: -strides[d]) + dims
    place = contiguous_strides(tuple(out.shape[d] for d in order))
    return tuple(place[order.index(d)] for d in range(m.ndim))


def _real_on_host(inst):
    known = _known(inst)
    if known is None or inst.layout[4] or P.kind_of(inst.in_metas[0].dtype) != 2:
        return None
    return spectra.of_real(*known, inst.out.dtype)


@op("fft_r2c(Tensor self, int[] dim, int[] s, str scale, bool onesided) -> Tensor", **DECLARED, grad="FftR2CBackward0",
    strides=_last_kept, host=_real_on_host, saves=_real_one, seen=_resized_one)
def fft_r2c(self, dim, s, scale, onesided):
    """The transform of real numbers; the half of the last dimension that tells everything if `onesided`."""
    x = resized(promoted(self, False), dim, s)
    n = over(dim, x)
    if not x.size:
        x = promoted(x, True)
        return jax.lax.slice_in_dim(x, 0, x.shape[dim[-1]] // 2 + 1, axis=dim[-1]) if onesided else x
    return scaled(jnp.fft.rfftn(x, axes=dim) if onesided else jnp.fft.fftn(promoted(x, True), axes=dim), scale, n)


def _to_real_on_host(inst):
    known = _known(inst)
    return known and spectra.to_real(*known, inst.out.dtype, inst.layout[4])


@op("fft_c2r(Tensor self, int[] dim, int[] s, str scale, int last) -> Tensor", **DECLARED, grad="FftC2RBackward0",
    strides=transform_strides(False), host=_to_real_on_host)
def fft_c2r(self, dim, s, scale, last):
    """Real numbers from the half of their transform that tells everything; `last` is the size of the last dimension."""
    x = resized(promoted(self, True), dim, s)
    sizes = tuple(x.shape[d] for d in dim[:-1]) + (last,)
    if not x.size:
        return jnp.zeros(tuple(last if d == dim[-1] else n for d, n in enumerate(x.shape)), x.real.dtype)
    return scaled(jnp.fft.irfftn(x, s=sizes, axes=dim, norm="forward"), scale, math.prod(sizes))


@op("overlap_add(Tensor frames, int hop) -> Tensor", **DECLARED, grad="UnfoldBackward0")
def overlap_add(frames, hop):
    """(..., frames, size) -> the sums where frames that begin `hop` apart overlap, (..., size + hop * (frames - 1))."""
    *batch, count, size = frames.shape
    parts = -(-size // hop)
    if parts > 16:                             # many short steps: one scatter instead of a sum of slices
        at = hop * jnp.arange(count)[:, None] + jnp.arange(size)
        return jnp.zeros((*batch, size + hop * (count - 1)), frames.dtype).at[..., at].add(frames)
    frames = jnp.pad(frames, [(0, 0)] * (len(batch) + 1) + [(0, parts * hop - size)])
    total = None
    for k in range(parts):
        piece = jnp.pad(frames[..., k * hop:(k + 1) * hop], [(0, 0)] * len(batch) + [(k, parts - 1 - k), (0, 0)])
        total = piece if total is None else total + piece
    return total.reshape(*batch, -1)[..., :size + hop * (count - 1)]
