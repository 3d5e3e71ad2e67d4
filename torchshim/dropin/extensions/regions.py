"""Regions of feature maps, pooled to a fixed size: torchvision's roi_align, roi_pool and their position-sensitive forms, with their
gradients.

A region is a row (image, x1, y1, x2, y2). Sums are made in the order of torchvision's loops, so that they round as there.
"""
from __future__ import annotations

import numpy as np

from .declared import declare, floating, same_type

_GRADIENT = "Tensor grad, Tensor rois, "
_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"


def _check(where, rois, **first):
    (array,) = first.values()
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    same_type(where, **first, rois=rois)
    floating(where, array)


def no_second(name):
    """The gradient of a gradient, of which there is none."""
    def backward(ctx, *grads):
        raise RuntimeError(f"double backwards on {name} not supported")
    return None, backward


class _Samples:
    """Where a region's bins are sampled: for each of (bin row, bin column, row, column) the four neighbours' places in a plane and their
    weights."""

    def __init__(self, roi, scale, size, ratio, height, width, offset, least):
        kind = roi.dtype.type
        scale, offset = kind(scale), kind(offset)
        x1, y1, x2, y2 = roi[1:] * scale - offset
        extents = [y2 - y1, x2 - x1]
        if least:
            extents = [max(e, kind(1)) for e in extents]
        places = []
        for start, extent, bins, length in zip((y1, x1), extents, size, (height, width)):
            step = extent / kind(bins)
            grid = ratio if ratio > 0 else int(np.ceil(step))
            at = (start + np.arange(bins).astype(kind) * step)[:, None] + ((np.arange(max(grid, 0)) + np.float32(0.5)).astype(kind) * step
                                                                        / kind(grid or 1))
            places.append((grid, *_neighbours(at, length, kind)))
        (self.rows, ylow, yhigh, ly, yin), (self.columns, xlow, xhigh, lx, xin) = places
        inside = yin[:, None, :, None] & xin[None, :, None, :]
        hy, hx = kind(1) - ly, kind(1) - lx
        self.corners = []
        for y, wy in ((ylow, hy), (yhigh, ly)):
            for x, wx in ((xlow, hx), (xhigh, lx)):
                weight = np.where(inside, wy[:, None, :, None] * wx[None, :, None, :], kind(0))
                self.corners.append((np.where(inside, y[:, None, :, None] * width + x[None, :, None, :], 0), weight))
        self.inside = inside

    def mean(self, planes, count):
        """(channels, bin rows, bin columns): bilinear samples of planes (channels, height * width), or of each bin's own planes
        (channels, bin rows, bin columns, height * width), summed one after another and divided by `count`."""
        total = np.zeros(planes.shape[:1] + self.inside.shape[:2], planes.dtype)
        for i in range(self.rows):
            for j in range(self.columns):
                (p1, w1), (p2, w2), (p3, w3), (p4, w4) = [(p[:, :, i, j], w[:, :, i, j]) for p, w in self.corners]
                total += ((w1 * _at(planes, p1) + w2 * _at(planes, p2)) + w3 * _at(planes, p3)) + w4 * _at(planes, p4)
        return total / count


def _at(planes, places):
    """Values of planes (..., n) at places (bin rows, bin columns); each bin's own planes (channels, bin rows, bin columns, n) where
    they are such."""
    if planes.ndim == 4:
        rows, columns = np.indices(places.shape)
        return planes[:, rows, columns, places]
    return planes[..., places]


def _neighbours(at, length, kind):
    """The two places around coordinates, how far behind the first they are, and whether they lie inside (-1 to length)."""
    inside = ~((at < -1) | (at > length))
    at = np.where(at <= 0, kind(0), at)
    low = np.where(inside, at, 0).astype(np.int64)
    last = low >= length - 1
    low = np.where(last, length - 1, low)
    at = np.where(last, low.astype(kind), at)
    return low, np.where(last, low, low + 1), at - low.astype(kind), inside


def _scattered(out, samples, grad, count, planes):
    """Adds to `out` (channels, height * width) what bilinear samples give back of grad (channels, bin rows, bin columns)."""
    bins = grad[..., None, None]
    places = np.stack([np.broadcast_to(planes * out.shape[1] + p, bins.shape[:3] + p.shape[2:]) for p, _ in samples.corners], -1)
    shares = np.stack([bins * w / count for _, w in samples.corners], -1)
    inside = np.broadcast_to(samples.inside[..., None], places.shape)
    np.add.at(out.reshape(-1), places[inside], shares[inside])


def _align(input, roi, scale, size, ratio, aligned):
    return _Samples(roi, scale, size, ratio, *input[-2:], 0.5 if aligned else 0.0, not aligned)


@declare("torchvision", f"_roi_align_backward({_GRADIENT}{_POOLED}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
         gradient=no_second("roi_align"), where="roi_align_backward_kernel")
def roi_align_backward(grad, rois, scale, height, width, *rest):
    """The gradient (batch, channels, height, width) of roi_align's input."""
    *sizes, ratio, aligned = rest
    _check("roi_align_backward_kernel", rois, grad=grad)
    out = np.zeros(sizes, grad.dtype)
    planes = np.arange(sizes[1])[:, None, None, None, None]
    for roi, g in zip(rois, grad):
        samples = _align(sizes, roi, scale, (height, width), ratio, aligned)
        _scattered(out[int(roi[0])].reshape(sizes[1], -1), samples, g, grad.dtype.type(samples.rows * samples.columns), planes)
    return out


def _gradient(name, sized):
    """(setup_context, backward) of an operator whose gradient is the operator `name`; sized: the input's shape stands before the last two
    arguments there."""
    def setup(ctx, inputs, output):
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.save_for_backward(inputs[1], *outputs[1:])
        ctx.shape, ctx.rest = inputs[0].shape, inputs[2:]
        if outputs[1:]:
            ctx.mark_non_differentiable(*outputs[1:])

    def backward(ctx, grad, *_):
        from torchshim import ops
        rest = ctx.rest[:3] + tuple(ctx.shape) + ctx.rest[3:] if sized else ctx.rest + tuple(ctx.shape)
        return (getattr(ops.torchvision, name)(grad, *ctx.saved_tensors, *rest), None) + (None,) * len(ctx.rest)
    return setup, backward


@declare("torchvision", f"roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
         _gradient("_roi_align_backward", True),
         where="roi_align_forward_kernel")
def roi_align(input, rois, scale, height, width, ratio, aligned):
    """(regions, channels, pooled height, pooled width): means of bilinear samples of each region's bins."""
    _check("roi_align_forward_kernel", rois, input=input)
    out = np.zeros((len(rois), input.shape[1], height, width), input.dtype)
    planes = input.reshape(*input.shape[:2], -1)
    for k, roi in enumerate(rois):
        samples = _align(input.shape, roi, scale, (height, width), ratio, aligned)
        out[k] = samples.mean(planes[int(roi[0])], input.dtype.type(max(samples.rows * samples.columns, 1)))
    return out


def _bins(roi, scale, size, limits, own, spare=0):
    """The first and the last place but one of a region's bins: rows (bins, 2), columns (bins, 2), cut `spare` before
    `limits`. Those of planes of their own (`own`) are one place shorter, as in torchvision."""
    kind = roi.dtype.type
    scaled = roi[1:] * kind(scale)
    x1, y1, x2, y2 = np.copysign(np.floor(np.abs(scaled.astype(np.float64)) + 0.5), scaled).astype(np.int64)
    for start, end, bins, limit in ((y1, y2, size[0], limits[0]), (x1, x2, size[1], limits[1])):
        step = kind(max(end - start + (not own), 1)) / kind(bins)
        first = np.floor(np.arange(bins).astype(kind) * step).astype(np.int64) + start
        last = np.ceil(np.arange(1, bins + 1).astype(kind) * step).astype(np.int64) + start
        yield np.stack([first, last], 1).clip(0, limit - spare)


@declare("torchvision", f"_roi_pool_backward({_GRADIENT}Tensor argmax, {_POOLED}, {_SIZES}) -> Tensor",
         gradient=no_second("roi_pool"), where="roi_pool_backward_kernel")
def roi_pool_backward(grad, rois, argmax, scale, height, width, *sizes):
    """The gradient (batch, channels, height, width) of roi_pool's input."""
    _check("roi_pool_backward_kernel", rois, grad=grad)
    out = np.zeros(sizes, grad.dtype)
    planes = np.arange(sizes[1])[:, None, None] * (sizes[2] * sizes[3])
    for roi, g, at in zip(rois, grad, argmax):
        np.add.at(out[int(roi[0])].reshape(-1), (planes + at)[at != -1], g[at != -1])
    return out


@declare("torchvision", f"roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)", _gradient("_roi_pool_backward", False),
         where="roi_pool_forward_kernel")
def roi_pool(input, rois, scale, height, width):
    """The largest element of each bin (0 in empty ones), and where it is in its plane (-1 there), int32."""
    _check("roi_pool_forward_kernel", rois, input=input)
    shape = len(rois), input.shape[1], height, width
    out, at = np.zeros(shape, input.dtype), np.full(shape, -1, np.int32)
    least = np.float32(-np.finfo(np.float32).max).astype(input.dtype)
    for k, roi in enumerate(rois):
        rows, columns = _bins(roi, scale, (height, width), input.shape[2:], False)
        for i, (h1, h2) in enumerate(rows):
            for j, (w1, w2) in enumerate(columns):
                if h2 <= h1 or w2 <= w1:
                    continue
                flat = input[int(roi[0]), :, h1:h2, w1:w2].reshape(input.shape[1], -1)
                flat = np.where(flat > least, flat, least)          # NaN is never larger
                where = flat.argmax(1)
                best = np.take_along_axis(flat, where[:, None], 1)[:, 0]
                out[k, :, i, j] = best
                at[k, :, i, j] = np.where(best > least, (h1 + where // (w2 - w1)) * input.shape[3] + w1 + where % (w2 - w1), -1)
    return out, at


def _own_channels(input_channels, height, width):
    """The plane of each (channel, bin row, bin column) of a position-sensitive output, int32. RuntimeError where they don't fit."""
    if input_channels % (height * width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return np.arange(input_channels, dtype=np.int32).reshape(-1, height, width)


@declare("torchvision", f"_ps_roi_pool_backward({_GRADIENT}Tensor channel_mapping, {_POOLED}, {_SIZES}) -> Tensor",
         gradient=no_second("ps_roi_pool"), where="ps_roi_pool_backward_kernel")
def ps_roi_pool_backward(grad, rois, mapping, scale, height, width, *sizes):
    """The gradient (batch, channels, height, width) of ps_roi_pool's input."""
    _check("ps_roi_pool_backward_kernel", rois, grad=grad)
    out = np.zeros(sizes, grad.dtype)
    for roi, g, own in zip(rois, grad, mapping):
        rows, columns = _bins(roi, scale, (height, width), sizes[2:], True)
        for i, (h1, h2) in enumerate(rows):
            for j, (w1, w2) in enumerate(columns):
                if h2 > h1 and w2 > w1:
                    share = g[:, i, j] / grad.dtype.type((h2 - h1) * (w2 - w1))
                    out[int(roi[0]), own[:, i, j], h1:h2, w1:w2] += share[:, None, None]
    return out


@declare("torchvision", f"ps_roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)", _gradient("_ps_roi_pool_backward", False),
         where="ps_roi_pool_forward_kernel")
def ps_roi_pool(input, rois, scale, height, width):
    """The mean of each bin in the plane that is its own, and which plane that is, int32."""
    _check("ps_roi_pool_forward_kernel", rois, input=input)
    own = _own_channels(input.shape[1], height, width)
    out = np.zeros((len(rois), *own.shape), input.dtype)
    for k, roi in enumerate(rois):
        rows, columns = _bins(roi, scale, (height, width), input.shape[2:], True, 1)
        for i, (h1, h2) in enumerate(rows):
            for j, (w1, w2) in enumerate(columns):
                if h2 <= h1 or w2 <= w1:
                    continue
                part = input[int(roi[0]), own[:, i, j], h1:h2, w1:w2].reshape(len(own), -1)
                out[k, :, i, j] = np.cumsum(part, 1, dtype=part.dtype)[:, -1] / part.dtype.type(part.shape[1])
    return out, np.broadcast_to(own, out.shape).copy()


@declare("torchvision", f"_ps_roi_align_backward({_GRADIENT}Tensor channel_mapping, {_POOLED}, int sampling_ratio, {_SIZES}) -> Tensor",
         gradient=no_second("ps_roi_align"), where="ps_roi_align_backward_kernel")
def ps_roi_align_backward(grad, rois, mapping, scale, height, width, ratio, *sizes):
    """The gradient (batch, channels, height, width) of ps_roi_align's input."""
    _check("ps_roi_align_backward_kernel", rois, grad=grad)
    out = np.zeros(sizes, grad.dtype)
    for roi, g, own in zip(rois, grad, mapping):
        samples = _Samples(roi, scale, (height, width), ratio, *sizes[2:], 0.5, False)
        _scattered(out[int(roi[0])].reshape(sizes[1], -1), samples, g, grad.dtype.type(samples.rows * samples.columns),
                   own[..., None, None].astype(np.int64))
    return out


@declare("torchvision", f"ps_roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
         _gradient("_ps_roi_align_backward", False),
         where="ps_roi_align_forward_kernel")
def ps_roi_align(input, rois, scale, height, width, ratio):
    """The mean of bilinear samples of each bin in the plane that is its own, and which plane that is, int32."""
    _check("ps_roi_align_forward_kernel", rois, input=input)
    own = _own_channels(input.shape[1], height, width)
    out = np.zeros((len(rois), *own.shape), input.dtype)
    planes = input.reshape(*input.shape[:2], -1)
    with np.errstate(invalid="ignore"):
        for k, roi in enumerate(rois):
            samples = _Samples(roi, scale, (height, width), ratio, *input.shape[2:], 0.5, False)
            out[k] = samples.mean(planes[int(roi[0])].reshape(*own.shape, -1), input.dtype.type(samples.rows * samples.columns))
    return out, np.broadcast_to(own, out.shape).copy()
