"""Statistics whose arguments Python sorts out: numerical gradients, histograms, distances."""
from __future__ import annotations

import math

from ...ops import promotion as P, statistics as S
from ...ops.common import wrap_dims
from ...ops.registry import OPS
from . import return_types
from .bind import FUNCTIONS, call, function, into, number
from .ranges import linspace
from ..core.handle import TensorBase
from .reduction import need_tensor
from .undefined import no_derivative
from .views import given_size, ints


@function(method=False)
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Numerical derivatives along dimensions: a tuple of tensors."""
    need_tensor("gradient", input)
    if input._ts_meta.dtype == P.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if isinstance(spacing, TensorBase) and spacing.ndim:
        raise TypeError("gradient(): argument 'spacing' must be a number or a tuple, not Tensor")
    spacing = 1 if spacing is None else spacing
    listed = spacing if isinstance(spacing, (list, tuple)) else None
    if dim is None:
        dims = list(range(input.ndim))
    elif dim.__class__ in (tuple, list) and not dim:
        dims = []
    else:
        dim = dim.item() if isinstance(dim, TensorBase) and not dim.ndim else dim
        if not input.ndim:
            raise IndexError(f"Dimension specified as {dim[0] if isinstance(dim, (tuple, list)) else dim} but tensor has no dimensions")
        dims = wrap_dims(dim, input.ndim)
    if listed is not None and dim is None and len(listed) != input.ndim:
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
                           f"{input.ndim}', since dim argument was not given, but got a list of length {len(listed)}")
    if listed is not None and len(listed) != len(dims):
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
                           f"length, but got a spacing argument of length {len(listed)} and a dim argument of length {len(dims)}.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for h in listed or ():
        if isinstance(h, TensorBase) and h.ndim != 1:
            raise RuntimeError(f"torch.gradient expected each element of spacing to have one dimension, but got an element with {h.ndim} "
                               "dimensions!")
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if dims and input._ts_meta.dtype == P.bool_:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
                           "instead.")
    out = []
    for k, d in enumerate(dims):
        h = listed[k] if listed is not None else spacing
        out.append((_slopes_at if isinstance(h, TensorBase) and h.ndim else _slopes)(input, h, d, edge_order))
    return tuple(out)


def _slopes(x, h, d, edge_order):
    """Central differences at equal distances; one-sided ones of the given order at the ends."""
    part, n = lambda first, count: x.narrow(d, first, count), x.shape[d]
    inner = (part(2, n - 2) - part(0, n - 2)) / h
    if edge_order == 1:
        first, last = (part(1, 1) - part(0, 1)) / h, (part(n - 1, 1) - part(n - 2, 1)) / h
    else:
        first = (-1.5 * part(0, 1) + 2 * part(1, 1) - 0.5 * part(2, 1)) / h
        last = (0.5 * part(n - 3, 1) - 2 * part(n - 2, 1) + 1.5 * part(n - 1, 1)) / h
    return FUNCTIONS["cat"]((first, inner / 2, last), d)


def _slopes_at(x, at, d, edge_order):
    """Second-order differences at given coordinates; at the ends distances are single numbers, which do not widen a dtype."""
    part, n = lambda first, count: x.narrow(d, first, count), x.shape[d]
    shape = [-1 if k == d else 1 for k in range(x.ndim)]
    h = at.diff()
    a, b = h[:-1], h[1:]
    inner = ((-b / (a * (a + b))).reshape(shape) * part(0, n - 2) + ((b - a) / (a * b)).reshape(shape) * part(1, n - 2)
             + (a / (b * (a + b))).reshape(shape) * part(2, n - 2))
    if edge_order == 1:
        first, last = (part(1, 1) - part(0, 1)) / h[0], (part(n - 1, 1) - part(n - 2, 1)) / h[-1]
    else:
        a, b, c, e = h[0], h[1], h[-2], h[-1]
        first = -(2.0 * a + b) / (a * (a + b)) * part(0, 1) + (a + b) / (a * b) * part(1, 1) + -a / (b * (a + b)) * part(2, 1)
        last = e / (c * (e + c)) * part(n - 3, 1) + -(e + c) / (e * c) * part(n - 2, 1) + (2.0 * e + c) / (e * (e + c)) * part(n - 1, 1)
    return FUNCTIONS["cat"]((first, inner, last), d)


def _edges(x, bins, low, high, k):
    """Edges of equal bins over [low, high], or over the data's range."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {k}")
    if low is None:
        low, high = (t.item() for t in call(OPS[None, "aminmax"], (x.detach(), None, False))) if x.numel() else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {k}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {k}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _check_histogram(points, bins, weight):
    """Refuse edges and weights that do not fit the points, one a row."""
    said = "torch.histogramdd: "
    for k, b in enumerate(bins):
        if isinstance(b, TensorBase):
            if b.dtype is not points.dtype:
                raise RuntimeError(f"{said}input tensor and bins tensors should have the same dtype, but got input with dtype "
                                   f"{P.cpp_name(points._ts_meta.dtype)} and bins for dimension {k} with dtype "
                                   f"{P.cpp_name(b._ts_meta.dtype)}")
            if b.ndim != 1:
                raise RuntimeError(f"{said}bins tensor should have one dimension, but got {b.ndim} dimensions in the bins tensor for "
                                   f"dimension {k}")
            if not b.numel():
                raise RuntimeError(f"{said}bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension "
                                   f"{k}")
    if weight is None:
        return
    if weight.dtype is not points.dtype:
        raise RuntimeError(f"{said}if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
                           f"input({P.cpp_name(points._ts_meta.dtype)}), and weight({P.cpp_name(weight._ts_meta.dtype)})")
    if weight.numel() != points.shape[0]:
        raise RuntimeError(f"{said}if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
                           f"dimension, but got input with shape {list(points.shape)} and weight with shape {list(weight.shape)}")


@function()
def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """(hist, bin_edges) of all elements. Looks at the data when neither edges nor a range are given."""
    need_tensor("histogram", input)
    fits, edged = input.dtype.np in (P.float32, P.float64), isinstance(bins, TensorBase)
    if not fits and not edged:
        raise S.unsupported("histogramdd", input._ts_meta)
    if range is not None and len(range) != 2:
        raise RuntimeError(f"torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got {len(range)}")
    _check_histogram(input.reshape(-1, 1), (bins,), weight)
    if not fits:
        raise S.unsupported("histogram_cpu", input._ts_meta)
    edges = bins if isinstance(bins, TensorBase) else _edges(input, bins, *(range or (None, None)), 0)
    hist = call(S.histogramdd, (input.reshape(-1, 1), (edges,), weight, bool(density)))
    made = (no_derivative(hist, (input,), "aten::histogram"), edges)
    made = return_types.histogram(made)
    return made if out is None else into(out, made, "histogram")


@function(method=False)
def histogramdd(input, bins, range=None, weight=None, density=False):
    """(hist, bin_edges) of points in several dimensions, the last one of `input`."""
    if need_tensor("histogramdd", input).ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input.shape[-1]
    points = input.reshape(-1, n)
    each = [bins] * n if number(bins) is not None else list(bins)
    if len(each) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check_histogram(points, each, weight)
    limits = [(None, None)] * n if range is None else [(range[2 * k], range[2 * k + 1]) for k, _ in enumerate(each)]
    edges = tuple(b if isinstance(b, TensorBase) else _edges(points[:, k], b, *limits[k], k) for k, b in enumerate(each))
    how = "tensors" if isinstance(each[0], TensorBase) else "cts"
    hist = no_derivative(call(S.histogramdd, (points, edges, weight, bool(density))), (input,), f"aten::_histogramdd_from_bin_{how}")
    return return_types.histogramdd((hist, edges))


_MODES = {"use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


@function(method=False)
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """p-norm distance of each row of x1 to each row of x2."""
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return call(S.cdist, (x1, x2, p, _MODES[compute_mode]))


@function(torch=False)
def sum_to_size(self, *sizes, size=None):
    """Sum down to a shape that broadcasts to this one."""
    shape = ints(given_size("sum_to_size", sizes, size), "sum_to_size")
    return self if shape == tuple(self.shape) != () else call(S.sum_to_size, (self, shape))
