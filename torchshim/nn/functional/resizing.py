"""interpolate, grid_sample, affine_grid, fold and unfold."""
from __future__ import annotations

import warnings

from ...engine import context
from ...ops.common import size_at
from ...ops.nn import folding, resize as ops
from ...ops.registry import T
from ...tensor.api.bind import call
from ...tensor.api.looked_up import looked_up
from ...tensor.core.dispatch import apply
from ...tensor.core.handle import TensorBase
from . import pooling
from .conv import spread

#: mode -> (dimensions of the input it takes, the operator's mode); None: any number of spatial dimensions from 1 to 3
_MODES = {"nearest": (None, "nearest"), "nearest-exact": (None, "nearest-exact"), "area": (None, "area"), "linear": (3, "linear"),
          "bilinear": (4, "linear"), "trilinear": (5, "linear"), "bicubic": (4, "cubic"), "lanczos": (4, "lanczos")}


def _targets(input, size, scale_factor):
    """(output size or None, scales or None): one of them is given, for every spatial dimension."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * dims, None
        if len(size) != dims:
            raise ValueError("Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                             f"{list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                             "format and output size in (o1, o2, ...,oK) format.")
        if not all([not n.is_floating_point() if isinstance(n, TensorBase) else hasattr(n, "__index__") for n in size]):
            raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                            f"types {[type(n) for n in size]}")
        return list(size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * dims
    if len(scale_factor) != dims:
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
                         f"{list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, "
                         "d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.")
    return None, list(scale_factor)


@looked_up
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """(N, C, ...) with one to three spatial dimensions, resized to `size` or by `scale_factor`.

    mode: "nearest", "nearest-exact", "area", "linear" (3-D input), "bilinear" and "bicubic" (4-D), "trilinear" (5-D), "lanczos" (4-D,
    antialiased). align_corners: the outer elements' centres coincide, not their edges. recompute_scale_factor: coordinates come
    from the sizes, not from scale_factor. antialias: when shrinking, every element covered counts ("bilinear" and "bicubic").
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    size, scales = _targets(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute_scale_factor or mode == "area"):
        size, scales = [int(n * s) for n, s in zip(tuple(input.shape)[2:], scales)], None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    n = input.dim()
    wanted, kind = _MODES.get(mode, (0, None))
    if n not in (3, 4, 5) or wanted is not None and wanted != n:
        if n in (3, 4, 5) and mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(f"Got {n}D input, but {mode} mode needs {wanted}D input")
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n}D) for the modes: nearest | linear | "
                                  f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})")
    if mode == "area":
        return getattr(pooling, f"adaptive_avg_pool{n - 2}d")(input, size)
    if mode == "lanczos":
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if size is None:
        size = [int(k * float(s)) for k, s in zip(tuple(input.shape)[2:], scales)]
        scales = tuple(map(float, scales))
    size = tuple([k.__index__() for k in size])
    _check_sizes(tuple(input.shape), size)
    return apply(ops.interpolate, (input,), (T, size, kind + "_aa" if antialias else kind, bool(align_corners), scales))


def _check_sizes(shape, size):
    given = shape[2:]
    if min(given, default=1) > 0 and min(size) > 0:
        if 0 in shape[1:]:
            raise RuntimeError(f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {list(shape)}")
        return
    axes = ("W", "HW", "DHW")[len(size) - 1]
    told = [", ".join(f"{a}: {n}" for a, n in zip(axes, values)) for values in (given, size)]
    raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({told[0]}) {'and ' if len(size) == 1 else ''}"
                       f"output ({told[1]})")


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of interpolate."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with mode "nearest", by its old name."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with mode "bilinear" and aligned corners, by its old name."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- grids ------------------------------------------------------------------------------------------------------------
_CORNERS = ("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")
_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


@looked_up
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """input (N, C, H, W) or (N, C, D, H, W) at the points grid (N, ..., 2 or 3), in coordinates from -1 to 1, x first.

    mode: "bilinear", "nearest" or "bicubic" (4-D); padding_mode: what is outside: "zeros", the "border", or its "reflection".
    """
    if all([mode != known for known in _SAMPLING]):            # compared as in torch, whose comparisons stop a symbolic mode
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _OUTSIDE:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    if align_corners is None:
        warnings.warn(_CORNERS, stacklevel=2)
    return call(ops.grid_sampler, (input, grid, _SAMPLING[mode], _OUTSIDE[padding_mode], bool(align_corners)))


@looked_up
def affine_grid(theta, size, align_corners=None):
    """The points that affine maps theta (N, 2, 3) or (N, 3, 4) give to an output of `size` (N, C, H, W) or (N, C, D, H, W)."""
    if align_corners is None:
        warnings.warn(_CORNERS, stacklevel=2)
    if not (theta.is_floating_point()):
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    shape, wanted = tuple(theta.shape), {4: (2, 3), 5: (3, 4)}.get(len(size))
    if wanted is None:
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
                                  f"Got size {size}.")
    if shape[1:] != wanted or len(shape) != 3:
        kind = "2D affine matrices of shape Nx2x3" if len(size) == 4 else "3D affine matrices of shape Nx3x4"
        raise ValueError(f"Expected a batch of {kind} for size {size}. Got {theta.shape}.")
    if align_corners and min(size[2:]) == 1:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an "
                      "intended use case of affine_grid. See the documentation of affine_grid for details.", stacklevel=2)
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if size[0] != shape[0]:
        raise RuntimeError(f"Expected tensor to have size {shape[0]} at dimension 0, but got size {size[0]} for argument #2 'batch2'")
    return call(ops.affine_grid_generator, (theta, tuple(size), bool(align_corners)))


# -- blocks -----------------------------------------------------------------------------------------------------------
def _pairs(**given):
    made = []
    for what, value in given.items():
        pair = spread(value, 2)
        if len(pair) != 2:
            raise RuntimeError(f"It is expected {what} equals to 2, but got size {len(pair)}")
        made.append(pair)
    return made


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The blocks of (N, C, H, W) or (C, H, W) as columns: (N, C KH KW, number of blocks)."""
    flat = isinstance(input, TensorBase) and input.dim() < 3
    if flat and context.grad and input.requires_grad:      # its history keeps the plane's sizes
        size_at(input._ts_meta, -1), size_at(input._ts_meta, -2)
    windows = _pairs(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if flat:
        folding.check_windows(*windows)
        size_at(input._ts_meta, max(input.dim(), 1))
    return call(folding.im2col, (input, *windows))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (N, C KH KW, number of blocks) added up to planes (N, C, *output_size): the adjoint of unfold."""
    windows = _pairs(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    return call(folding.col2im, (input, *windows))
