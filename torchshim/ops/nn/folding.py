"""Sliding blocks as columns and back, and shuffles of pixels and channels."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from .. import promotion as P
from ..layout import channels_last_strides, lies_channels_last
from ..registry import op


def blocks(n, kernel, dilation, padding, stride):
    """How many blocks a dimension of n elements has."""
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _listed(names, values):
    return " ".join(f"{n}: {v}" for n, v in zip(names, values))


def check_windows(kernel_size, dilation, padding, stride):
    for name, values in (("kernel", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride)):
        least, word = (0, "non-negative") if name == "padding" else (1, "greater than zero")
        if min(values) < least:
            label, axis = {"kernel": ("kernel size", "kernel"), "padding": ("padding", "pad")}.get(name, (name, name))
            raise RuntimeError(f"{label} should be {word}, but got " + _listed([f"{axis}_height", f"{axis}_width"], values))


def _shown(values):
    return "(" + ", ".join(map(str, values)) + ")"


def _check_im2col(self, kernel_size, dilation, padding, stride):
    check_windows(kernel_size, dilation, padding, stride)
    shape = self.shape
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
                           f"got: {list(shape)}")
    counts = [blocks(n, *w) for n, w in zip(shape[-2:], zip(kernel_size, dilation, padding, stride))]
    if min(counts) < 1:
        raise RuntimeError(f"Given input with spatial size {_shown(shape[-2:])}, kernel_size={_shown(kernel_size)}, "
                           f"dilation={_shown(dilation)}, padding={_shown(padding)}, calculated shape of the array of sliding blocks as "
                           f"{_shown(counts)}, but its components must be at least one.")
    if P.kind_of(self.dtype) == 1:
        raise NotImplementedError(f"\"im2col_out_cpu\" not implemented for '{P.c_name(self.dtype)}'")


@op("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", grad="Im2ColBackward0",
    check=_check_im2col, function=False, method=False, plain_gradients=True)
def im2col(self, kernel_size, dilation, padding, stride):
    """The blocks of (N, C, H, W) or (C, H, W) as columns: (N, C KH KW, number of blocks)."""
    x = self if self.ndim == 4 else self[None]
    n, c, h, w = x.shape
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel_size, dilation, padding, stride
    oh, ow = blocks(h, kh, dh, ph, sh), blocks(w, kw, dw, pw, sw)
    x = jnp.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    x = jnp.stack([jax.lax.slice_in_dim(x, k * dh, k * dh + (oh - 1) * sh + 1, sh, 2) for k in range(kh)], 2)
    x = jnp.stack([jax.lax.slice_in_dim(x, k * dw, k * dw + (ow - 1) * sw + 1, sw, 4) for k in range(kw)], 3)
    x = x.reshape(n, c * kh * kw, oh * ow)
    return x if self.ndim == 4 else x[0]


def _check_col2im(self, output_size, kernel_size, dilation, padding, stride):
    check_windows(kernel_size, dilation, padding, stride)
    shape = self.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, "
                           f"but got: {list(shape)}")
    if min(output_size) < 1:
        raise RuntimeError("output_size should be greater than zero, but got " + _listed(("output_height", "output_width"), output_size))
    area = kernel_size[0] * kernel_size[1]
    if shape[-2] % area:
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
                           f"{shape[-2]} and kernel_size={_shown(kernel_size)}.")
    counts = [blocks(n, *w) for n, w in zip(output_size, zip(kernel_size, dilation, padding, stride))]
    told = f"Given output_size={_shown(output_size)}, kernel_size={_shown(kernel_size)}, dilation={_shown(dilation)}, " \
           f"padding={_shown(padding)}, stride={_shown(stride)}, "
    if shape[-1] != counts[0] * counts[1]:
        raise RuntimeError(f"{told}expected size of input's dimension 2 to match the calculated number of sliding blocks "
                           f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got input.size(2)={shape[-1]}.")
    if min(counts) < 1:
        raise RuntimeError(f"{told}calculated shape of the array of sliding blocks as {_shown(counts)}, which is too small (non-positive)")
    if P.kind_of(self.dtype) == 1:
        raise NotImplementedError(f"\"col2im_out_cpu\" not implemented for '{P.c_name(self.dtype)}'")


def _spread(x, axis, place, stride, size):
    """`x` with `stride` between its elements along `axis`, beginning at `place` of `size` zeros."""
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (place, size - place - (x.shape[axis] - 1) * stride - 1, stride - 1)
    return jax.lax.pad(x, np.zeros((), x.dtype), config)


@op("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    grad="Col2ImBackward0", check=_check_col2im, function=False, method=False)
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """Columns (N, C KH KW, number of blocks) put back into planes (N, C, *output_size), added up where blocks overlap."""
    x = self if self.ndim == 3 else self[None]
    n, area = x.shape[0], kernel_size[0] * kernel_size[1]
    (h, w), (kh, kw), (dh, dw), (ph, pw), (sh, sw) = output_size, kernel_size, dilation, padding, stride
    oh, ow = blocks(h, kh, dh, ph, sh), blocks(w, kw, dw, pw, sw)
    x = x.reshape(n, x.shape[1] // area, kh, kw, oh, ow)
    x = sum(_spread(x[:, :, :, k], 4, k * dw, sw, w + 2 * pw) for k in range(kw))
    x = sum(_spread(x[:, :, k], 2, k * dh, sh, h + 2 * ph) for k in range(kh))
    x = x[:, :, ph:ph + h, pw:pw + w]
    return (x if self.ndim == 3 else x[0]).astype(self.dtype)


# -- shuffles ---------------------------------------------------------------------------------------------------------
def _check_shuffle(self, upscale_factor):
    shape, r = self.shape, upscale_factor
    if len(shape) < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if shape[-3] % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                           f"input.size(-3)={shape[-3]} is not divisible by {r * r}")


def _kept(inst, self, *rest):
    return channels_last_strides(inst.out.shape) if self.ndim == 4 and lies_channels_last(self) else None


@op("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", grad="PixelShuffleBackward0", check=_check_shuffle, strides=_kept,
    method=False, functional=True, plain_gradients=True, out=False)
def pixel_shuffle(self, upscale_factor):
    """(*, C r², H, W) to (*, C, H r, W r): the channels become pixels."""
    *lead, c, h, w = self.shape
    r, k = upscale_factor, len(lead)
    x = self.reshape(*lead, c // (r * r), r, r, h, w)
    x = x.transpose(*range(k), k, k + 3, k + 1, k + 4, k + 2)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


def _check_unshuffle(self, downscale_factor):
    shape, r = self.shape, downscale_factor
    if len(shape) < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    for d, name in ((-2, "height"), (-1, "width")):
        if shape[d] % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={shape[d]} is not "
                               f"divisible by {r}")


@op("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", grad="PixelUnshuffleBackward0", check=_check_unshuffle, strides=_kept,
    method=False, functional=True, out=False)
def pixel_unshuffle(self, downscale_factor):
    """(*, C, H r, W r) to (*, C r², H, W): the inverse of pixel_shuffle."""
    *lead, c, h, w = self.shape
    r, k = downscale_factor, len(lead)
    x = self.reshape(*lead, c, h // r, r, w // r, r)
    x = x.transpose(*range(k), k, k + 2, k + 4, k + 1, k + 3)
    return x.reshape(*lead, c * r * r, h // r, w // r)


def _check_channels(self, groups):
    if len(self.shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self.shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {self.shape[1]} channels and {groups} groups.")


def _refuse_dealing_back(inst, needs):
    """back_refuses: torch deals the gradient out in as many groups as a group has channels."""
    if inst.in_metas[0].shape[1] < inst.layout[1]:
        return "Number of groups to divide channels in must be positive. Value of groups:0"


@op("channel_shuffle(Tensor self, SymInt groups) -> Tensor", grad="ChannelShuffleBackward0", check=_check_channels, strides=_kept,
    back_refuses=_refuse_dealing_back, method=False, functional=True, out=False)
def channel_shuffle(self, groups):
    """(N, C, ...) with its groups of channels dealt out in turn."""
    n, c, *rest = self.shape
    return jnp.swapaxes(self.reshape(n, groups, c // groups, math.prod(rest)), 1, 2).reshape(self.shape)


@op("native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", grad="NotImplemented", check=_check_channels, method=False,
    functional=True)
def native_channel_shuffle(self, groups):
    """channel_shuffle without a gradient, as in torch."""
    return channel_shuffle.body(self, groups)
