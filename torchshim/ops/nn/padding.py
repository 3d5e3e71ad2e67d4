"""Padding with a constant, the edge, a reflection or the other end."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ...engine import meta_of
from ..layout import channels_last_strides, elementwise_strides, lies_channels_last, not_channels_last
from ..casts import cast
from ..registry import kernel_back, op


def _widths(ndim, pad):
    """(before, after) for every dimension from torch's list, which begins at the last."""
    w = [(0, 0)] * ndim
    for i in range(len(pad) // 2):
        w[ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    return w


def _cropped(x, widths):
    """Negative widths cut; the rest are returned as widths to pad."""
    if any([w < 0 for pair in widths for w in pair]):
        x = x[tuple([slice(-a if a < 0 else 0, n + b if b < 0 else n) for n, (a, b) in zip(x.shape, widths)])]
    return x, [(0 if a < 0 else a, 0 if b < 0 else b) for a, b in widths]


def _check(x, pad, value):
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    n = len(x.shape)
    if len(pad) > 2 * n:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(pad)} and input of dimension {n}")
    for d, (a, b) in enumerate(_widths(n, pad)):
        if x.shape[d] + min(a, 0) + min(b, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        if x.shape[d] + a + b < 0:
            raise RuntimeError(f"The input size {x.shape[d]}, plus negative padding {a} and {b} resulted in a negative output size, "
                               f"which is invalid. Check dimension {d} of your input.")


def _strides(inst, self, pad, how):
    """channels_last stays so, except around; what is only cut is cloned."""
    if how not in _NAMES and how != "circular" and max(pad, default=0) <= 0:
        out = inst.out
        return elementwise_strides((meta_of(out.shape, out.dtype, out.device, self.strides),), out.shape)
    return channels_last_strides(inst.out.shape) if how != "circular" and lies_channels_last(self) else None


@op("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", grad="ConstantPadNdBackward0", check=_check, strides=_strides,
    method=False, sizes=("pad",), apart=0, plain_gradients=True, out=False)
def constant_pad_nd(self, pad, value):
    """`value` around the last dimensions; negative widths cut."""
    x, widths = _cropped(self, _widths(self.ndim, pad))
    return jnp.pad(x, widths, constant_values=cast(jnp.asarray(value), x.dtype))


_NAMES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}


@op("pad_edge(Tensor self, int[] pad, str mode) -> Tensor", grad=lambda inst: f"{_NAMES.get(inst.layout[2], '')}"
    f"{len(inst.layout[1]) // 2}DBackward0" if inst.layout[2] in _NAMES else "CopySlices", strides=_strides, function=False,
    method=False, twice=lambda inst: None if inst.layout[2] == "circular" else "zeros", plain_gradients=not_channels_last,
    grad_back=lambda inst, needs: kernel_back(inst, needs) if inst.layout[2] in _NAMES else "MulBackward0",
    saves=lambda inst, wrt: (~0,) if inst.layout[2] in _NAMES else ())
def pad_edge(self, pad, mode):
    """The values at the edge, mirrored values, or those of the other end."""
    widths = _widths(self.ndim, pad)
    if mode != "circular" and min(pad) < 0:
        x = self
        for d, (a, b) in enumerate(widths):
            if a or b:
                x = jnp.take(x, _sources(x.shape[d], a, b, mode), d)
        return x
    x, widths = _cropped(self, widths)
    if 0 in [n + a + b for n, (a, b) in zip(self.shape, _widths(self.ndim, pad))]:
        return jnp.zeros([n + a + b for n, (a, b) in zip(self.shape, _widths(self.ndim, pad))], x.dtype)
    if not x.size:                             # cut off to the last element
        return jnp.zeros([n + a + b for n, (a, b) in zip(x.shape, widths)], x.dtype)
    return jnp.pad(x, widths, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def _sources(n, before, after, mode):
    """Where each element of a padded (or cut) dimension comes from."""
    k = np.arange(n + before + after) - before
    if mode == "reflect":
        k = np.where(k < 0, -k, np.where(k >= n, 2 * (n - 1) - k, k))
    return np.clip(k, 0, n - 1)
