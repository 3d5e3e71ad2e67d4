"""Interpolation: every mode is, along each dimension, a weighted sum of a few elements at places that the sizes determine."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ...engine.interpret import sampling
from .. import promotion as P
from ..common import size_at, wide
from ..creation import LINSPACE
from ..layout import as_format, channels_last_strides, lies_channels_last, plain
from ..products import product
from ..registry import op

_LINEAR = {1: "Linear1D", 2: "Bilinear2D", 3: "Trilinear3D"}


def _name(inst):
    dims, mode = len(inst.layout[1]), inst.layout[2]
    kind = {"nearest": f"Nearest{dims}D", "nearest-exact": f"NearestExact{dims}D", "linear": _LINEAR[dims], "cubic": "Bicubic2D",
            "linear_aa": "Bilinear2DAa", "cubic_aa": "Bicubic2DAa", "lanczos_aa": "Lanczos2DAa"}[mode]
    return f"Upsample{kind}Backward0"


def _check(self, size, mode, align_corners, scales):
    if mode.endswith("_aa"):                   # halves are refused, too; a copy takes whatever it is
        if self.dtype not in (P.float32, P.float64, P.uint8) and self.shape[2:] != tuple(size):
            raise NotImplementedError(f"\"compute_index_ranges_weights\" not implemented for '{P.c_name(self.dtype)}'")
        return
    if P.kind_of(self.dtype) == 2 or self.dtype == P.uint8 and (mode.startswith("nearest") or len(size) == 2):
        return
    if len(size) == 2 and (mode == "linear" or mode.startswith("nearest")):
        kernel = f"upsample_{'bilinear' if mode == 'linear' else 'nearest'}2d_channels_last"
    else:
        kernel = {"linear": "compute_indices_weights_linear", "cubic": "compute_indices_weights_cubic"}.get(
            mode, "compute_indices_weights_nearest")
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(self.dtype)}'")


def _strides(inst, self, *rest):
    return channels_last_strides(inst.out.shape) if lies_channels_last(self) else None


def _scale(n, out, align_corners, given, real):
    """Input elements for each output element, in the precision that torch computes it in."""
    if align_corners:
        return real(n - 1) / real(out - 1) if out > 1 else real(0)
    return real(1 / given) if given is not None and given > 0 else real(n) / real(out)


def _nearest(n, out, scale, exact):
    """Where each output element comes from. torch does this in single precision for every dtype."""
    i = np.arange(out, dtype=np.float32)
    if out == n:
        return np.arange(out)
    return np.minimum(np.floor((i + np.float32(0.5) if exact else i) * scale), n - 1).astype(np.int64)


def _linear(n, out, align_corners, scale, real):
    """(places, weights) of the two neighbours of each output element."""
    i = np.arange(out, dtype=real)
    if out == n:
        at, fraction = np.arange(out), np.zeros(out, real)
    else:
        source = scale * i if align_corners else np.maximum(scale * (i + real(0.5)) - real(0.5), real(0))
        at = np.minimum(source.astype(np.int64), n - 1)
        fraction = np.clip(source - at.astype(real), real(0), real(1))
    return np.stack([at, np.minimum(at + 1, n - 1)], 1), np.stack([real(1) - fraction, fraction], 1)


def _cubic_weights(t):
    """Keys' four weights at distance t past the second element."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(n, out, align_corners, scale, real):
    i = np.arange(out, dtype=real)
    source = scale * i if align_corners else scale * (i + real(0.5)) - real(0.5)
    at = np.minimum(np.floor(source), n - 1)
    weights = np.stack(_cubic_weights(np.clip(source - at, real(0), real(1))), 1)
    return np.clip(at.astype(np.int64)[:, None] + np.arange(-1, 3), 0, n - 1), weights


def _filter(mode, x):
    """An antialiasing filter."""
    x = np.abs(x)
    if mode.startswith("linear"):
        return np.where(x < 1, 1 - x, 0)
    if mode.startswith("cubic"):
        a = x.dtype.type(-0.5 if mode == "cubic_aa" else -0.75)
        return np.where(x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, (((x - 5) * x + 8) * x - 4) * a, 0))
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


_REACH = {"linear_aa": 1, "cubic_aa": 2, "lanczos_aa": 3}


def _antialiased(n, out, mode, scale, real):
    """Places and weights of all elements under a filter that is as wide as the shrinking demands; weights 0 fill up."""
    support = real(_REACH[mode]) * max(scale, real(1))
    inverse = real(1) / scale if scale >= 1 else real(1)
    centre = scale * (np.arange(out, dtype=real) + real(0.5))
    first = np.maximum((centre - support + real(0.5)).astype(np.int64), 0)
    count = np.minimum((centre + support + real(0.5)).astype(np.int64), n) - first
    j = np.arange(count.max(initial=1))
    inside = j < count[:, None]
    weights = np.where(inside, _filter(mode, ((j + first[:, None]).astype(real) - centre[:, None] + real(0.5)) * inverse), 0)
    return np.where(inside, first[:, None] + j, 0), (weights / weights.sum(1, keepdims=True)).astype(real), inside


def _of_bytes(n, out, mode, align_corners, given):
    """(places, integer weights, inside, by how many bits the sum is too large): torch interpolates uint8 in fixed point."""
    scale = _scale(n, out, align_corners, given, np.float64)
    if mode in _REACH:
        places, weights, inside = _antialiased(n, out, mode, scale, np.float64)
    else:
        corner, reach = 0.5 * align_corners, _REACH[mode + "_aa"]
        centre = scale * (np.arange(out) + 0.5 - corner)
        at = np.floor(centre - reach + 0.5 + corner)[:, None] + np.arange(2 * reach)
        weights = _filter(mode, at - centre[:, None] + 0.5 - corner)
        places, inside = np.clip(at, 0, n - 1).astype(np.int64), None
        for j in range(1, 2 * reach):          # what lies outside counts for the edge
            same = places[:, j] == places[:, j - 1]
            weights[:, j] += np.where(same, weights[:, j - 1], 0)
            weights[same, j - 1] = 0
        weights /= weights.sum(1, keepdims=True)
    bits = next((b for b in range(22) if int(0.5 + weights.max() * (1 << b + 1)) >= 1 << 15), 22)
    weights = weights * (1 << bits)
    return places, np.trunc(weights + np.copysign(0.5, weights)).astype(np.int32), inside, bits


_UNROLLED = 16             # sums up to this length are added up element by element


def _weighted(x, axis, places, weights, inside=None):
    """sum over j of weights[:, j] * x[places[:, j]] along `axis`, where `inside`."""
    along = (-1,) + (1,) * (x.ndim - axis - 1)
    weights = weights.astype(x.dtype)
    if places.shape[1] > _UNROLLED:
        parts = jnp.take(x, places.ravel(), axis, mode="clip").reshape(*x.shape[:axis], *places.shape, *x.shape[axis + 1:])
        along = places.shape + along[1:]
        return jnp.sum(jnp.where(inside.reshape(along), parts, 0) * weights.reshape(along), axis + 1)
    total = None
    for j in range(places.shape[1]):
        part = jnp.take(x, places[:, j], axis, mode="clip")
        if inside is not None and not inside[:, j].all():
            part = jnp.where(inside[:, j].reshape(along), part, 0)
        part = part * weights[:, j].reshape(along)
        total = part if total is None else total + part
    return total


def _adjoint(n, places, weights, inside=None):
    """The tables of the transposed sum: for each of n inputs the outputs that it goes to. They gather, where XLA would scatter."""
    out = np.broadcast_to(np.arange(len(places))[:, None], places.shape)
    keep = np.ones(places.shape, bool) if inside is None else inside
    source, out, weights = places[keep], out[keep], weights[keep]
    order = np.argsort(source, kind="stable")
    source, out, weights = source[order], out[order], weights[order]
    count = np.bincount(source, minlength=n)
    column = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    made = [np.zeros((n, max(count.max(initial=0), 1)), a.dtype) for a in (out, weights)]
    for table, values in zip(made, (out, weights)):
        table[source, column] = values
    return *made, np.arange(made[0].shape[1]) < count[:, None]


def _repeated(x, axis, times):
    """Every element `times` times."""
    shape = x.shape
    x = jnp.broadcast_to(jnp.expand_dims(x, axis + 1), (*shape[:axis + 1], times, *shape[axis + 1:]))
    return x.reshape(*shape[:axis], shape[axis] * times, *shape[axis + 1:])


def _tables(n, out, mode, align_corners, given, dtype):
    """(places, weights, inside) of one dimension; None where it stays as it is."""
    nearest = mode.startswith("nearest")
    real = np.float64 if dtype == np.float64 and not nearest else np.float32
    scale = _scale(n, out, align_corners, given, real)
    if nearest:
        at = _nearest(n, out, scale, mode == "nearest-exact")[:, None]
        return at, np.ones(at.shape, real), None
    if mode == "linear":
        return *_linear(n, out, align_corners, scale, real), None
    if mode == "cubic":
        return *_cubic(n, out, align_corners, scale, real), None
    return None if out == n and given is None else _antialiased(n, out, mode, scale, real)


def _times(tables, n):
    """How often each element is repeated, when that is all the tables say; else 0."""
    places = tables[0]
    times = len(places) // n if n else 0
    alone = places.shape[1] == 1 and times * n == len(places)
    return times if alone and (places[:, 0] == np.arange(len(places)) // max(times, 1)).all() else 0


def _gradient(ct, self, size, mode, align_corners, scales):
    """The adjoint of every dimension's sum."""
    x = wide(ct)
    for d, out in enumerate(size):
        axis, n = d + 2, self.shape[d + 2]
        tables = _tables(n, out, mode, align_corners, scales and scales[d], x.dtype)
        if tables is not None:
            times = _times(tables, n)
            x = jnp.sum(x.reshape(*x.shape[:axis], n, times, *x.shape[axis + 1:]), axis + 1) if times else \
                _weighted(x, axis, *_adjoint(n, *tables))
    return (x.astype(self.dtype),)


def _resized_bytes(x, size, mode, align_corners, scales):
    """Rows first, then columns, each rounded to bytes."""
    x = x.astype(jnp.int32)
    for d in (1, 0):
        n = x.shape[d + 2]
        if n != size[d]:
            *tables, bits = _of_bytes(n, size[d], mode, align_corners, scales and scales[d])
            x = jnp.clip(_weighted(x, d + 2, *tables) + (1 << bits - 1) >> bits, 0, 255)
    return x.astype(jnp.uint8)


@op("interpolate_to(Tensor self, int[] size, str mode, bool align_corners, float[]? scales) -> Tensor", grad=_name, check=_check,
    strides=_strides, rule=_gradient, function=False, method=False,
    lie=lambda inst, *rest: (plain if inst.layout[2].startswith("cubic") else as_format)(inst, *rest))
def interpolate(self, size, mode, align_corners, scales):
    """(N, C, ...) resized. mode: "nearest", "nearest-exact", "linear", "cubic" or an antialiased "linear_aa", "cubic_aa", "lanczos_aa".

    scales: what the user gave instead of the size, where coordinates are computed from it.
    """
    nearest = mode.startswith("nearest")
    if self.dtype == jnp.uint8 and not nearest:
        return _resized_bytes(self, size, mode, align_corners, scales)
    x = self if nearest else wide(self)
    for d in reversed(range(len(size))):
        axis, n = d + 2, x.shape[d + 2]
        tables = _tables(n, size[d], mode, align_corners, scales and scales[d], x.dtype)
        if tables is None:
            continue
        times = _times(tables, n)
        if times:
            x = _repeated(x, axis, times) if times > 1 else x
        else:
            x = jnp.take(x, tables[0][:, 0], axis, mode="clip") if nearest else _weighted(x, axis, *tables)
    return x.astype(self.dtype)


# -- sampling at a grid -----------------------------------------------------------------------------------------------
def _source(x, n, align_corners, planes):
    """Coordinates in [-1, 1] as indices, rounded as torch does: at a pixel the last bit decides between two neighbours.

    Of planes it halves the size beforehand, and takes one half from the product before that is rounded; of volumes, the coordinate.
    """
    if planes and align_corners:
        return (x + 1) * ((n - 1) / 2)
    if planes and x.dtype == np.float32:
        return ((x + 1).astype(np.float64) * (n / 2) - 0.5).astype(x.dtype)
    if planes:
        high = jax.lax.stop_gradient((x + 1).astype(np.float32).astype(x.dtype))  # its product with n / 2 is exact, and so is the rest's
        return high * (n / 2) - 0.5 + (x + 1 - high) * (n / 2)
    return (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2


def _clipped(x, n):
    """Inside [0, n - 1], NaN at 0; at the ends and beyond no gradient passes."""
    return jnp.where(x > 0, jnp.where(x < n - 1, x, n - 1), 0)


def _reflected(x, n, align_corners):
    """Mirrored at the ends until inside, which lie at the outer elements' centres or edges."""
    low, span = (0.0, n - 1) if align_corners else (-0.5, n)
    if span == 0:
        return x * 0
    y = jnp.abs(x - low)
    turns = jax.lax.stop_gradient(jnp.floor(y / span))
    rest = y - turns * span
    return jnp.where(turns % 2 == 0, rest + low, span - rest + low)


def _inside(x, n, padding_mode, align_corners):
    """A coordinate by the padding mode."""
    if padding_mode == 1:
        return _clipped(x, n)
    if padding_mode == 2:
        return _clipped(_reflected(x, n, align_corners), n)
    return x


def _indices(x):
    """Coordinates as integers; those that are no number, or out of the integers' range, are outside of every plane."""
    x = jax.lax.stop_gradient(x)
    return jnp.where(jnp.abs(x) < 2.0 ** 30, x, -100.0).astype(jnp.int64)


def _at(flat, indices, sizes):
    """Elements of (N, C, plane) at one index array (N, ...) for each dimension; 0 outside."""
    ok, place = True, 0
    for i, n in zip(indices, sizes):
        ok = ok & (i >= 0) & (i < n)
        place = place * n + jnp.clip(i, 0, n - 1)
    n = flat.shape[0]
    picked = jnp.take_along_axis(flat, place.reshape(n, 1, math.prod(place.shape[1:])), 2, mode="clip")
    picked = picked.reshape(n, flat.shape[1], *place.shape[1:])
    return jnp.where(ok[:, None], picked, 0)


def _check_grid(input, grid, interpolation_mode, padding_mode, align_corners):
    x, g = input.shape, grid.shape
    if size_at(input, 0) != size_at(grid, 0):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(x)} and grid "
                           f"with sizes {list(g)}")
    if g[-1] != len(x) - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, but got grid with sizes {list(g)}")
    for d in range(2, len(x)):
        if x[d] == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                               f"{list(x)} with dimension {d} being empty")
    if len(x) not in (4, 5) or len(x) != len(g):
        wanted = 4 if len(x) == 4 else 5                       # torch's kernel is chosen by the input
        raise RuntimeError(f"grid_sampler(): expected {wanted}D input and grid with same number of dimensions, but got input with sizes "
                           f"{list(x)} and grid with sizes {list(g)}")
    if len(x) == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if P.kind_of(input.dtype) != 2:
        kernel = "grid_sampler_2d_cpu_kernel_impl" if len(x) == 4 else "grid_sampler3d_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(input.dtype)}'")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {P.c_name(input.dtype)} but found {P.c_name(grid.dtype)}")


def _sampled_on_host(inst):
    """Where it is interpreted: planes in float32, linearly, with zeros or the border outside."""
    image, grid, (mode, padding, align_corners) = *inst.in_metas, inst.layout[2:]
    if image.ndim == 4 and image.dtype == P.float32 and mode == 0 and padding < 2 and image.numel and grid.numel:
        return sampling.bilinear(image.shape, *grid.shape[1:3], padding == 1, align_corners)


@op("grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    grad=lambda inst: f"GridSampler{len(inst.in_metas[0].shape) - 2}DBackward0", check=_check_grid, method=False, twice=2,
    pushes=lambda inst: f"grid_sampler_{len(inst.in_metas[0].shape) - 2}d",
    host=_sampled_on_host, saves=("input", "grid"), plain_gradients=True, tied={(1, 0): (0, 0)})
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """input (N, C, ...) at the points of grid (N, ..., dims), whose coordinates, last dimension first, lie in [-1, 1].

    interpolation_mode: 0 linear, 1 nearest, 2 cubic; padding_mode of points outside: 0 zeros, 1 the border, 2 reflection.
    """
    x, g = wide(input), wide(grid)
    sizes = x.shape[2:]
    n, c = x.shape[:2]
    flat = x.reshape(n, c, -1) if x.size else x.reshape(n, c, 1)
    source = [_source(g[..., len(sizes) - 1 - d], sizes[d], align_corners, len(sizes) == 2) for d in range(len(sizes))]
    if interpolation_mode == 2:
        return _cubic_samples(flat, source, sizes, padding_mode, align_corners).astype(input.dtype)
    source = [_inside(s, size, padding_mode, align_corners) for s, size in zip(source, sizes)]
    if interpolation_mode == 1:
        return _at(flat, [_indices(jnp.round(s)) for s in source], sizes).astype(input.dtype)
    low = [jax.lax.stop_gradient(jnp.floor(s)) for s in source]
    parts = [(1 - (s - a) if len(sizes) == 2 else a + 1 - s, s - a) for s, a in zip(source, low)]
    total = 0
    for corner in np.ndindex(*(2,) * len(sizes)):
        weight = 1
        for part, high in reversed(list(zip(parts, corner))):
            weight = weight * part[high]
        total = total + _at(flat, [_indices(a + high) for a, high in zip(low, corner)], sizes) * weight[:, None]
    return total.astype(input.dtype)


def _cubic_samples(flat, source, sizes, padding_mode, align_corners):
    """Keys' interpolation of the sixteen neighbours, each of which is brought inside by itself."""
    low = [jax.lax.stop_gradient(jnp.floor(s)) for s in source]
    weights = [_cubic_weights(s - a) for s, a in zip(source, low)]
    places = [[_indices(_inside(a + k, n, padding_mode, align_corners)) for k in range(-1, 3)] for a, n in zip(low, sizes)]
    total = 0
    for i in range(4):
        row = sum(_at(flat, [places[0][i], places[1][j]], sizes) * weights[1][j][:, None] for j in range(4))
        total = total + row * weights[0][i][:, None]
    return total


@op("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", grad="AffineGridGeneratorBackward0", method=False)
def affine_grid_generator(theta, size, align_corners):
    """The grid of an affine map theta (N, dims, dims + 1) for an output of `size` (N, C, ...)."""
    dims = len(size) - 2
    t = wide(theta)
    axes = []
    for d, n in enumerate(size[2:]):
        # torch's own numbers, to the last bit: the grid of the identity lies on the pixels, where a sample's gradient jumps
        line = LINSPACE.host((n,), t.dtype, np.float64(-1), np.float64(1)) if n > 1 else np.zeros(n, t.dtype)
        if n > 1 and not align_corners:
            line = line * t.dtype.type(n - 1) / t.dtype.type(n)
        axes.append(np.broadcast_to(line.reshape((-1,) + (1,) * (dims - 1 - d)), size[2:]))
    base = np.stack([*reversed(axes), np.ones(size[2:], t.dtype)], -1).reshape(-1, dims + 1)
    return product(jnp.asarray(base), jnp.swapaxes(t, 1, 2)).reshape(size[0], *size[2:], dims).astype(theta.dtype)
