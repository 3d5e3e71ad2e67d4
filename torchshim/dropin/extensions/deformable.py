"""torchvision's deformable convolution: every tap of the kernel reads at a place that is moved by an offset, weighted by a mask."""
from __future__ import annotations

import numpy as np

from torchshim import from_numpy

from .declared import declare, floating
from .regions import no_second

_ARGUMENTS = ("Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, "
              "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask")


def _check(input, weight, offset, mask, stride, pad, dilation, groups, offset_groups, use_mask):
    """RuntimeError for arguments that do not fit; the output's (height, width)."""
    def require(held, text):
        if not held:
            raise RuntimeError(text)
    floating("deformable_im2col", input)
    for name, array in {"input": input, "offset": offset, "weight": weight, **({"mask": mask} if use_mask else {})}.items():
        require(array.ndim == 4, f"Expected 4-dimensional tensor for argument '{name}', but got {array.ndim}-dimensional")
    kernel = weight.shape[2:]
    require(kernel[0] > 0 and kernel[1] > 0, f"weight_h: {kernel[0]} weight_w: {kernel[1]}")
    require(min(stride) > 0, f"stride_h: {stride[0]} stride_w: {stride[1]}")
    require(min(pad) >= 0, f"pad_h: {pad[0]} pad_w: {pad[1]}")
    require(min(dilation) > 0, f"dil_h: {dilation[0]} dil_w: {dilation[1]}")
    out = [(n + 2 * p - (d * (k - 1) + 1)) // s + 1 for n, p, d, k, s in zip(input.shape[2:], pad, dilation, kernel, stride)]
    require(weight.shape[1] * groups == input.shape[1], "weight.size(1) * n_weight_grps == input.size(1)")
    require(weight.shape[0] % groups == 0, "weight.size(0) % n_weight_grps == 0")
    taps = offset_groups * kernel[0] * kernel[1]
    require(offset.shape[1] == 2 * taps, f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {2 * taps}")
    require(not use_mask or mask.shape[1] == taps, f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {taps}" if use_mask else "")
    require(input.shape[1] % offset_groups == 0, "input.size(1) % n_offset_grps == 0")
    require(offset.shape[0] == input.shape[0], "invalid batch size of offset")
    require(list(offset.shape[2:]) == out, f"offset output dims: ({offset.shape[2]}, {offset.shape[3]}) - computed output dims: "
                                           f"({out[0]}, {out[1]})")
    require(not use_mask or mask.shape[0] == input.shape[0], "invalid batch size of mask")
    require(not use_mask or list(mask.shape[2:]) == out, f"mask output dims: ({mask.shape[2]}, {mask.shape[3]}) - computed output dims: "
                                                         f"({out[0]}, {out[1]})" if use_mask else "")
    require(min(out) > 0, f"Calculated output size too small - out_h: {out[0]} out_w: {out[1]}")
    return out


class _Taps:
    """Where each tap reads for one image and one group of offsets: arrays (taps, output height, output width)."""

    def __init__(self, offset, kernel, stride, pad, dilation, size):
        kind, (height, width) = offset.dtype.type, size
        out = offset.shape[-2:]
        pairs = offset.reshape(-1, 2, *out)
        rows, columns = np.divmod(np.arange(kernel[0] * kernel[1]), kernel[1])
        y = (np.arange(out[0]) * stride[0] - pad[0])[None, :, None] + (rows * dilation[0])[:, None, None]
        x = (np.arange(out[1]) * stride[1] - pad[1])[None, None, :] + (columns * dilation[1])[:, None, None]
        self.y, self.x = y.astype(kind) + pairs[:, 0], x.astype(kind) + pairs[:, 1]
        self.inside = (self.y > -1) & (self.y < height) & (self.x > -1) & (self.x < width)
        low, left = np.floor(self.y), np.floor(self.x)
        ly, lx = self.y - low, self.x - left
        self.beyond = kind(1) - ly, kind(1) - lx, ly, lx
        # (place in the plane, whether it is there, sign of its share in y's and x's gradient, weights)
        self.corners = []
        hy, hx, _, _ = self.beyond
        with np.errstate(invalid="ignore"):
            low, left = [np.where(np.isfinite(v), v, -5).clip(-5, 2 ** 31).astype(np.int64) for v in (low, left)]
        for i, wy, dy in ((0, hy, -1), (1, ly, 1)):
            for j, wx, dx in ((0, hx, -1), (1, lx, 1)):
                there = (low + i >= 0) & (low + i < height) & (left + j >= 0) & (left + j < width)
                self.corners.append((np.where(there, (low + i) * width + left + j, 0), there, dy, dx, wy, wx))

    def read(self, planes):
        """(channels, taps, output height, output width) of planes (channels, height * width)."""
        total = None
        for place, there, _, _, wy, wx in self.corners:
            part = np.where(there, wy * wx, 0).astype(planes.dtype) * planes[:, place]
            total = part if total is None else total + part
        return np.where(self.inside, total, planes.dtype.type(0))

    def slopes(self, planes):
        """The derivatives of `read` with respect to y and to x."""
        of_y = of_x = planes.dtype.type(0)
        for place, there, dy, dx, wy, wx in self.corners:
            value = np.where(there, planes[:, place], planes.dtype.type(0))
            of_y, of_x = of_y + value.dtype.type(dy) * wx * value, of_x + value.dtype.type(dx) * wy * value
        return of_y, of_x

    def scatter(self, planes, shares):
        """Adds to planes (channels, height * width) what `read` gives back of shares (channels, taps, output height, output width)."""
        start = np.arange(len(planes))[:, None, None, None] * planes.shape[1]
        for place, there, _, _, wy, wx in self.corners:
            there = np.broadcast_to(there & self.inside, shares.shape)
            np.add.at(planes.reshape(-1), (start + place)[there], (shares * (wy * wx))[there])


def _each(input, offset, mask, offset_groups, use_mask, *geometry):
    """For each image and group of offsets: (image, channels, taps, the mask or None)."""
    step = input.shape[1] // offset_groups
    offsets = offset.reshape(len(offset), offset_groups, -1, *offset.shape[2:])
    masks = mask.reshape(len(mask), offset_groups, -1, *mask.shape[2:]) if use_mask else None
    for n in range(len(input)):
        for g in range(offset_groups):
            yield n, g, slice(g * step, (g + 1) * step), _Taps(offsets[n, g], *geometry, input.shape[2:]), masks[n, g] if use_mask else None


def _columns(input, kernel, out, each):
    made = np.empty((*input.shape[:2], kernel[0] * kernel[1], *out), input.dtype)
    planes = input.reshape(*input.shape[:2], -1)
    for n, _, channels, taps, mask in each:
        read = taps.read(planes[n, channels])
        made[n, channels] = read if mask is None else mask * read
    return made


@declare("torchvision", f"_deform_conv2d_backward(Tensor grad, {_ARGUMENTS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
         gradient=no_second("deform_conv2d"), where="deformable_im2col")
def deform_conv2d_backward(grad, input, weight, offset, mask, bias, *rest):
    """The gradients of deform_conv2d's five tensors, each of its tensor's shape."""
    stride, pad, dilation, (groups, offset_groups, use_mask) = rest[:2], rest[2:4], rest[4:6], rest[6:]
    out = _check(input, weight, offset, mask, stride, pad, dilation, groups, offset_groups, use_mask)
    kernel, n = weight.shape[2:], len(input)
    each = list(_each(input, offset, mask, offset_groups, use_mask, kernel, stride, pad, dilation))
    columns = _columns(input, kernel, out, each).reshape(n, groups, -1, out[0] * out[1])
    grads = grad.reshape(n, groups, -1, out[0] * out[1])
    weights = weight.reshape(groups, weight.shape[0] // groups, -1)
    of_weight = np.zeros_like(weights)
    for i in range(n):
        of_weight += grads[i] @ columns[i].swapaxes(1, 2)
    back = (weights.swapaxes(1, 2) @ grads).reshape(n, input.shape[1], -1, *out)
    of_input, of_offset, of_mask = np.zeros_like(input), np.zeros_like(offset), np.zeros_like(mask)
    planes, flat_input = input.reshape(n, input.shape[1], -1), of_input.reshape(n, input.shape[1], -1)
    offsets = of_offset.reshape(n, offset_groups, -1, 2, *out)
    masks = of_mask.reshape(n, offset_groups, -1, *out) if use_mask else None
    for i, g, channels, taps, scale in each:
        share = back[i, channels]
        if use_mask:
            masks[i, g] = (share * taps.read(planes[i, channels])).sum(0)
            share = share * scale
        taps.scatter(flat_input[i, channels], share)
        for axis, slope in enumerate(taps.slopes(planes[i, channels])):
            offsets[i, g, :, axis] = (share * slope).sum(0)
    return of_input, of_weight.reshape(weight.shape), of_offset, of_mask, np.ones_like(bias) * from_numpy(grad).sum((0, 2, 3)).numpy()


def _setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:5])
    ctx.rest = inputs[5:]


def _backward(ctx, grad):
    from torchshim import ops
    return (*ops.torchvision._deform_conv2d_backward(grad, *ctx.saved_tensors, *ctx.rest), *[None] * len(ctx.rest))


@declare("torchvision", f"deform_conv2d({_ARGUMENTS}) -> Tensor", (_setup, _backward),
         where="deformable_im2col")
def deform_conv2d(input, weight, offset, mask, bias, *rest):
    """(batch, output channels, output height, output width); offsets are (batch, 2 * groups of offsets * taps, output height, output
    width), y before x. RuntimeError where shapes do not fit."""
    stride, pad, dilation, (groups, offset_groups, use_mask) = rest[:2], rest[2:4], rest[4:6], rest[6:]
    out = _check(input, weight, offset, mask, stride, pad, dilation, groups, offset_groups, use_mask)
    if not len(input):
        return np.zeros((0, weight.shape[0], *out), input.dtype)
    each = _each(input, offset, mask, offset_groups, use_mask, weight.shape[2:], stride, pad, dilation)
    columns = _columns(input, weight.shape[2:], out, each).reshape(len(input), groups, -1, out[0] * out[1])
    made = weight.reshape(groups, weight.shape[0] // groups, -1) @ columns
    return made.reshape(len(input), weight.shape[0], *out) + bias[:, None, None]
