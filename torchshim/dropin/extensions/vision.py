"""torchvision's compiled operators: overlapping boxes, regions of feature maps, deformable convolution."""
from __future__ import annotations

import numpy as np

from . import deformable, regions  # noqa: F401  (they declare)
from .declared import declare, floating


@declare("torchvision", "_cuda_version() -> int")
def _cuda_version():
    """-1: made without CUDA."""
    return -1


@declare("torchvision", "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
         where="nms_kernel")
def nms(dets, scores, iou_threshold):
    """Indices (N kept,) of boxes (N, 4), best first, that no better one overlaps by more than the threshold.

    RuntimeError for other shapes."""
    if dets.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.ndim}D")
    if dets.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if len(dets) != len(scores):
        raise RuntimeError(f"boxes and scores should have same number of elements in dimension 0, got {len(dets)} and {len(scores)}")
    if dets.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    if not len(dets):
        return np.zeros(0, np.int64)
    floating("nms_kernel", dets, half=False)
    order = np.argsort(-scores, kind="stable") if not np.isnan(scores).any() else _descending(scores)
    x1, y1, x2, y2 = dets[order].T
    with np.errstate(all="ignore"):
        areas = (x2 - x1) * (y2 - y1)
        left, kept = np.arange(len(order)), []
        while len(left):
            i, left = left[0], left[1:]
            kept.append(order[i])
            zero = dets.dtype.type(0)
            w = np.maximum(zero, np.minimum(x2[i], x2[left]) - np.maximum(x1[i], x1[left]))
            h = np.maximum(zero, np.minimum(y2[i], y2[left]) - np.maximum(y1[i], y1[left]))
            inter = w * h
            left = left[~((inter / (areas[i] + areas[left] - inter)).astype(np.float64) > iou_threshold)]
    return np.array(kept, np.int64)


def _descending(scores):
    """The stable order from the largest, NaN first."""
    return np.lexsort((-np.nan_to_num(scores), ~np.isnan(scores)))


def _corners(box):
    """The corners (4, 2) of a box (centre x, y, width, height, degrees), counterclockwise."""
    x, y, w, h, turn = box
    c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
    across, along = np.array([c, -s]) * w / 2, np.array([s, c]) * h / 2
    corners = np.array([x, y]) + np.array([-across - along, across - along, across + along, along - across])
    return corners if w * h >= 0 else corners[::-1]


def _overlap(corners, others):
    """The area that two convex polygons share: the first is cut at each side of the second."""
    for a, b in zip(others, np.roll(others, -1, 0)):
        side = (b[0] - a[0]) * (corners[:, 1] - a[1]) - (b[1] - a[1]) * (corners[:, 0] - a[0])
        cut = []
        for p, q, s, t in zip(corners, np.roll(corners, -1, 0), side, np.roll(side, -1)):
            if s >= 0:
                cut.append(p)
            if (s >= 0) != (t >= 0):
                cut.append(p + (q - p) * (s / (s - t)))
        if len(cut) < 3:
            return 0.0
        corners = np.array(cut)
    x, y = (corners - corners[0]).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


@declare("torchvision", "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor", where="box_iou_rotated")
def box_iou_rotated(boxes1, boxes2):
    """(N, M): how much of their union boxes (N, 5) and (M, 5) share; a box is centre x, y, width, height, degrees. Computed in float64."""
    for name, boxes in (("boxes1", boxes1), ("boxes2", boxes2)):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise RuntimeError(f"{name} should have shape (N, 5), got {list(boxes.shape)}")
    if boxes1.dtype != boxes2.dtype:
        raise RuntimeError("boxes1 and boxes2 must have the same dtype")
    floating("box_iou_rotated", boxes1, half=False)
    made = np.zeros((len(boxes1), len(boxes2)), boxes1.dtype)
    for i, a in enumerate(boxes1.astype(np.float64)):
        for j, b in enumerate(boxes2.astype(np.float64)):
            areas = a[2] * a[3], b[2] * b[3]
            if min(areas) >= 1e-14:
                shared = _overlap(_corners(a) - b[:2], _corners(b) - b[:2])
                made[i, j] = shared / (sum(areas) - shared)
    return made


def _quantized(name):
    def missing(*args):
        raise NotImplementedError(f"torchshim: torchvision::{name}; there are no quantized tensors")
    return missing


declare("torchvision", "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")(_quantized("qnms"))
declare("torchvision", "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
        "int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor")(
            _quantized("qroi_align"))
