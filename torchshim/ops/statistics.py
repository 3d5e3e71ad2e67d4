"""Statistics and integrals built on reductions: covariance, trapezoids, numerical gradients, histograms, distances, renorm."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import warn
from . import promotion as P
from .common import half_of, is_complex, is_float, wide, wrap_dim, wrap_dims
from .layout import broadcast_shapes, iterated
from .loops import searchsorted
from .norms import p_norm, vector_norm
from .reduction import root, summable, unsupported
from .casts import cast, short
from .registry import op, shown


# -- covariance -------------------------------------------------------------------------------------------------------------
def _weights(name, w, kind, observations):
    if w is None:
        return
    if w.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions")
    if (P.kind_of(w.dtype) == 2) != (kind == "floating point") or P.kind_of(w.dtype) in (0, 3):
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {P.c_name(w.dtype)} dtype")
    if w.size != observations:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got {w.size} != "
                           f"{observations}")


def covariance(x, correction, fweights, aweights):
    """Covariance of the rows, without dimensions of size 1."""
    if x.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {x.ndim} dimensions")
    if x.dtype == np.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = wide(x) if P.kind_of(x.dtype) > 1 else x.astype(P.default_float)
    x = x if x.ndim == 2 else x.reshape(1, -1)
    n = x.shape[1]
    _weights("fweights", fweights, "integral", n)
    _weights("aweights", aweights, "floating point", n)
    w = None
    if fweights is not None:
        w = fweights.reshape(-1)
    if aweights is not None:                           # the weights' sums are made in their own precision, not in that of x
        aweights = wide(aweights).reshape(-1)
        w = aweights if w is None else w.astype(aweights.dtype) * aweights
    if w is None:
        total, mean = float(n), jnp.sum(x, 1, keepdims=True) / n
        norm = total - correction
        if norm <= 0:
            warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        norm = jnp.asarray(max(norm, 0.0), x.dtype)
        scaled = lambda d: d
    else:
        total = jnp.sum(w)
        given, w = w, w.astype(P.promote(w.dtype, x.dtype))
        mean = jnp.sum(x * w, 1, keepdims=True) / total
        if aweights is None or not correction:
            norm = total - correction
        else:
            norm = total - correction * jnp.sum(given * aweights) / total
        norm = jnp.maximum(norm, 0)
        scaled = lambda d: d * w
    d = x - mean
    return jnp.squeeze(jnp.matmul(d, jnp.conj(scaled(d)).T, precision=jax.lax.Precision.HIGHEST) / norm)


def _same_kind(made, x):
    return made.astype(x.dtype if P.kind_of(x.dtype) > 1 else P.default_float)


HAS_NEGATIVE = op("any_negative.late(Tensor w) -> Tensor")(lambda w: jnp.any(w < 0))
SUMS_TO_ZERO = op("sums_to_zero.late(Tensor w) -> Tensor")(lambda w: jnp.sum(w) == 0)


def _refuse_weights(self, correction, fweights, aweights):
    late = []
    for position, name, w in ((2, "fweights", fweights), (3, "aweights", aweights)):
        if hasattr(w, "dtype") and w.numel and P.kind_of(w.dtype) in (1, 2):
            late += [(position, HAS_NEGATIVE, lambda name=name: RuntimeError(f"cov(): {name} cannot be negative")),
                     (position, SUMS_TO_ZERO, lambda: RuntimeError("cov(): weights sum to zero, can't be normalized"))]
    return late


@op("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", seen=lambda inst: {0: None},
    grad="SqueezeBackward0",
    precheck=_refuse_weights, out=False)
def cov(self, correction, fweights, aweights):
    """Covariance matrix of the variables in the rows."""
    d = self.dtype if P.kind_of(self.dtype) > 1 else P.default_float
    return covariance(self, correction, fweights, aweights).astype(d if aweights is None else P.promote(d, aweights.dtype))


def _corrcoef_name(inst):
    made = inst.out_metas[0]
    return "DivBackward0" if not made.ndim else "ComplexBackward0" if P.kind_of(made.dtype) == 3 else "ClampBackward1"


@op("corrcoef(Tensor self) -> Tensor", grad=_corrcoef_name, grad_back="Add", out=False, seen=lambda inst: {0: None})
def corrcoef(self):
    """Correlation coefficients of the variables in the rows."""
    if self.ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions")
    c = covariance(self, 1, None, None)
    if not c.ndim:
        return _same_kind(c / c, self)
    dev = jnp.sqrt(jnp.real(jnp.diagonal(c)))
    c = c / dev[:, None] / dev[None, :]
    if is_complex(c):
        return jax.lax.complex(jnp.clip(jnp.real(c), -1, 1), jnp.clip(jnp.imag(c), -1, 1))
    return _same_kind(jnp.clip(c, -1, 1), self)


# -- integrals, derivatives ---------------------------------------------------------------------------------------------------
def _steps(name, y, x, d):
    """Differences of the sample points, shaped to broadcast with y's."""
    if x.dtype == np.bool_:
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if x.ndim == 1 == y.ndim and x.shape != y.shape:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x.ndim == 1 and y.ndim != 1:
        if x.shape[0] != y.shape[d]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == d else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
    n = x.shape[d]
    return jax.lax.slice_in_dim(x, min(1, n), n, axis=d) - jax.lax.slice_in_dim(x, 0, max(n - 1, 0), axis=d)


def _areas(name, y, x, dx, dim):
    """Twice the area of each trapezoid, and the dimension."""
    if x is not None:
        wrap_dim(dim, y.ndim)
    if y.dtype == np.bool_:
        raise RuntimeError(f"{name}: received a bool input for {'`y`' if x is None else '`x` or `y`'}, but bool is not supported")
    if x is None and P.kind_of(np.result_type(dx)) not in (1, 2):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if not y.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor." if x is None or x.ndim != 1 else
                         "Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, y.ndim)
    common = y.dtype if x is None else P.promote(y.dtype, x.dtype)
    out = common if P.kind_of(common) > 1 else P.default_float
    whole = P.kind_of(y.dtype) < 2                     # integers are added, and multiplied by integers, in their own dtype
    to = common if x is not None and out != common else P.compute_dtype(out)
    h = cast(jnp.asarray(dx), to) if x is None else cast(_steps(name, y, x, d), to)
    y = y if whole else cast(y, to)
    n = y.shape[d]
    both = jax.lax.slice_in_dim(y, min(1, n), n, axis=d) + jax.lax.slice_in_dim(y, 0, max(n - 1, 0), axis=d)
    if x is not None:
        broadcast_shapes([both.shape, h.shape])
    return _kept(_kept(cast(both, to), out) * h, out), d, out


def _kept(a, d):
    """`a` rounded to the half type `d`, as torch keeps each step; else as it is."""
    return a if P.compute_dtype(d) == d else a.astype(d).astype(a.dtype)


def _long(x):
    return x.astype(np.int64) if P.kind_of(x.dtype) < 2 else x


def _trapezoid(y, x, dx, dim):
    if not y.ndim:
        if x is not None:
            wrap_dim(dim, 0)
        raise IndexError(f"Dimension specified as {dim if x is None else 0} but tensor has no dimensions")
    d = wrap_dim(dim, y.ndim)
    if not y.shape[d]:                         # torch makes zeros, whatever else is given
        return jnp.zeros(y.shape[:d] + y.shape[d + 1:], y.dtype)
    area, d, out = _areas("trapezoid", y, x, dx, dim)
    if x is None and y.shape[d]:               # the ends are added in their own dtype
        first, last = [jax.lax.index_in_dim(y, k, d, False) for k in (0, -1)]
        ends = cast(first + last, area.dtype) if P.kind_of(y.dtype) < 2 else _kept(cast(first, area.dtype) + cast(last, area.dtype), out)
        total = cast(jnp.sum(_long(y) if P.kind_of(y.dtype) < 2 else cast(y, area.dtype), d), area.dtype)
        return (_kept(_kept(total, out) - ends / 2, out) * cast(jnp.asarray(dx), area.dtype)).astype(out)
    return (_kept(cast(jnp.sum(_long(area), d), P.compute_dtype(out)), out) / 2).astype(out)


def _cumulative_trapezoid(y, x, dx, dim):
    area, d, out = _areas("cumulative_trapezoid", y, x, dx, dim)
    return (cast(jnp.cumsum(_long(area), d), P.compute_dtype(out)) / 2).astype(out)


def _declare_trapezoids(name, body, doc, grad, points_first=True):
    """The two overloads of an integral: over sample points, and over samples at distance dx."""
    def named(grad):                           # zeros that torch makes of nothing have no history
        return lambda inst: None if body is _trapezoid and not inst.in_metas[0].numel and inst.out.numel else grad

    def points():
        op(f"{name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", grad=named("DivBackward1"), method=False, out=False,
           seen=lambda inst: {0: None, 1: None})(over_points)

    def over_points(y, x, dim):
        return body(y, x, None, dim)

    def evenly(y, dx, dim):
        return body(y, None, dx, dim)
    over_points.__doc__ = evenly.__doc__ = doc
    if points_first:
        points()
    op(f"{name}(Tensor y, *, {'Scalar' if points_first else 'float'} dx=1, int dim=-1) -> Tensor", grad=named(grad), method=False,
       out=False)(evenly)
    if not points_first:
        points()


_declare_trapezoids("trapezoid", _trapezoid, "Integral by the trapezoidal rule.", "MulBackward1")
_declare_trapezoids("trapz", _trapezoid, "Integral by the trapezoidal rule: trapezoid's old name.", "MulBackward1", points_first=False)
_declare_trapezoids("cumulative_trapezoid", _cumulative_trapezoid, "Integrals from the beginning by the trapezoidal rule.",
                    "CumsumBackward0")


# -- histograms ---------------------------------------------------------------------------------------------------------------
@op("histogramdd.counts(Tensor self, Tensor[] edges, Tensor? weight, bool density) -> Tensor")
def histogramdd(self, edges, weight, density):
    """Counts (or weights) of points in the cells of a grid; the last cell of each dimension is closed."""
    if self.dtype not in (P.float32, P.float64):
        raise unsupported("histogramdd", self)
    bins = [e.shape[0] - 1 for e in edges]
    points = self.reshape(-1, len(edges))
    inside, cell = jnp.ones(points.shape[0], bool), jnp.zeros(points.shape[0], np.int64)
    for k, e in enumerate(edges):
        x = points[:, k]
        at = searchsorted(e, x, side="right").astype(np.int64) - 1
        inside &= (x >= e[0]) & (x <= e[-1])
        cell = cell * bins[k] + jnp.clip(at, 0, bins[k] - 1)
    amount = jnp.ones(points.shape[0], points.dtype) if weight is None else weight.reshape(-1).astype(points.dtype)
    counts = jnp.zeros(math.prod(bins), points.dtype).at[cell].add(jnp.where(inside, amount, jnp.zeros((), amount.dtype)),
                                                                  mode="promise_in_bounds").reshape(bins)
    if density:
        counts = counts / jnp.sum(counts)
        for k, e in enumerate(edges):
            counts = counts / jnp.diff(e).reshape([-1 if i == k else 1 for i in range(len(bins))])
    return counts.astype(self.dtype)


# -- norms of rows, distances -----------------------------------------------------------------------------------------------
def _least_norm(self, p, dim, maxnorm):
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if isinstance(maxnorm, (int, float)) and not maxnorm >= 0:         # nor NaN
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")


def _renorm_calls(inst):
    m, dim = inst.in_metas[0], inst.layout[2]
    return "abs" if m.numel == m.shape[dim] > 0 else "mul"         # the norm of a single number


@op("renorm(Tensor self, Number p, int dim, Scalar maxnorm) -> Tensor", lie=iterated, grad="RenormBackward0",
    grad_back="Where", inplace=True, by_out=_renorm_calls,
    precheck=_least_norm)
def renorm(self, p, dim, maxnorm):
    """Slices along `dim` scaled down to a p-norm of at most maxnorm."""
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    d = wrap_dim(dim, self.ndim)
    norm = vector_norm(wide(self), float(p), tuple(i for i in range(self.ndim) if i != d), True, None)
    most = cast(maxnorm, norm.dtype)
    factor = short(jnp.where(norm > most, most / (norm + 1e-7), jnp.ones_like(norm)), half_of(self.dtype))
    return (self * factor).astype(self.dtype)


def _squared_form(inst):
    return _by_product(*inst.in_metas, *inst.layout[2:])


def _by_product(a, b, p, mode):
    """Whether torch computes Euclidean distances through a matrix product."""
    return p == 2 and (mode == 1 or mode != 2 and (a.shape[-2] > 25 or b.shape[-2] > 25))


def _check_cdist(x1, x2, p, mode):
    for k, x in ((1, x1), (2, x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{k} got: {x.ndim}D")
    for k, x in ((1, x1), (2, x2)):
        if not P.kind_of(x.dtype) == 2:
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{k} got: {P.c_name(x.dtype)}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if P.compute_dtype(x1.dtype) != x1.dtype and 0 not in x1.shape + x2.shape and not _by_product(x1, x2, p, mode):
        raise NotImplementedError(f"\"cdist\" not implemented for '{P.c_name(x1.dtype)}'")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {P.c_name(x1.dtype)} but found {P.c_name(x2.dtype)}")


@op("cdist.mode(Tensor x1, Tensor x2, Number p, int mode) -> Tensor", plain_gradients=True,
    grad=lambda inst: "ViewBackward0" if _squared_form(inst) else "CdistBackward0", grad_back="CdistBackward", saves=("result",),
    pushes=lambda inst: _squared_form(inst) or "_cdist_forward",
    composed=True, check=_check_cdist)
def cdist(x1, x2, p, mode):
    """p-norm distance of each row of x1 to each row of x2."""
    batch = broadcast_shapes([x1.shape[:-2], x2.shape[:-2]])
    a, b = wide(x1), wide(x2)
    if _by_product(a, b, p, mode):
        cross = jnp.matmul(a, jnp.swapaxes(b, -1, -2), precision=jax.lax.Precision.HIGHEST)
        square = jnp.sum(a * a, -1)[..., :, None] + jnp.sum(b * b, -1)[..., None, :] - 2 * cross
        return root(jnp.maximum(square, 0)).astype(x1.dtype)
    gap = jnp.broadcast_to(a[..., :, None, :] - b[..., None, :, :], batch + (a.shape[-2], b.shape[-2], a.shape[-1]))
    if not gap.shape[-1]:
        return jnp.zeros(gap.shape[:-1], x1.dtype)
    if p == math.inf:
        return _largest(gap).astype(x1.dtype)
    return p_norm(gap, float(p), (gap.ndim - 1,), False).astype(x1.dtype)


cdist.twice_refuses = lambda inst, needs: None if _squared_form(inst.op.inst) else NotImplementedError(
    "the derivative for '_cdist_backward' is not implemented.")


@jax.custom_jvp
def _largest(gap):
    return jnp.max(jnp.abs(gap), -1)


@_largest.defjvp
def _largest_jvp(primals, tangents):
    (gap,), (t,), = primals, tangents
    out = _largest(gap)                        # torch's cdist gives each of several largest the whole gradient, its norm a share
    return out, jnp.sum(jnp.where(jnp.abs(gap) == out[..., None], jnp.sign(gap), 0) * t, -1)


# -- others -------------------------------------------------------------------------------------------------------------------
@op("sum_to_size.shape(Tensor self, int[] size) -> Tensor", grad=lambda inst: "SumBackward1" if inst.layout[1] else "SumBackward0")
def sum_to_size(self, size):
    """Sum over the dimensions that broadcasting `size` to this shape would have added or stretched."""
    lead = self.ndim - len(size)
    if lead < 0 or any(n != s and s != 1 for n, s in zip(self.shape[lead:], size)):
        raise RuntimeError(f"size {{{shown(size)}}} is not expandable to size {{{shown(self.shape)}}}.")
    x, out = summable(self, None)
    stretched = tuple(lead + i for i, s in enumerate(size) if s == 1 and self.shape[lead + i] != 1)
    return jnp.sum(x, tuple(range(lead)) + stretched, keepdims=True).reshape(size).astype(out)


@op("hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor")
def hash_tensor(self, dim, keepdim, mode):
    """The exclusive or of the elements' bits, as doubles or 64-bit integers."""
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if is_complex(self):
        raise NotImplementedError("hash_tensor of complex tensors")
    wide64 = self.astype(np.float64 if is_float(self) else np.int64)
    bits = jax.lax.bitcast_convert_type(wide64, np.uint64)
    axes = wrap_dims(dim, self.ndim)
    out = jax.lax.reduce(bits, np.uint64(0), jax.lax.bitwise_xor, axes)
    return jnp.expand_dims(out, axes) if keepdim else out


@op("pdist(Tensor self, Number p=2) -> Tensor", grad="PdistBackward0", pushes="_pdist_forward",
    grad_back="PdistBackward", method=False, functional=True, saves=("result",), out=False)
def pdist(self, p):
    """p-norm distances of all pairs of rows, without repetition: (0, 1), (0, 2) … (1, 2) …"""
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if not is_float(self):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = self.shape[0]
    if n < 2:
        return jnp.zeros(0, self.dtype)
    if not self.shape[1]:
        return jnp.zeros(n * (n - 1) // 2, self.dtype)
    if self.dtype not in (P.float32, P.float64):
        raise NotImplementedError(f"\"pdist\" not implemented for '{P.c_name(self.dtype)}'")
    x = wide(self)
    # the place k of pair (i, j) is i * (2 * n - i - 1) / 2 + j - i - 1: solved for i, then put right where the root was rounded
    k = jnp.arange(n * (n - 1) // 2)
    before = lambda i: i * (2 * n - i - 1) // 2
    i = jnp.floor(n - 0.5 - jnp.sqrt((n - 0.5) ** 2 - 2.0 * k)).astype(k.dtype)
    i = jnp.where(before(i) > k, i - 1, jnp.where(before(i + 1) <= k, i + 1, i))
    gap = x[i] - x[k - before(i) + i + 1]
    return (_largest(gap) if p == math.inf else p_norm(gap, float(p), (1,), False)).astype(self.dtype)


pdist.twice_refuses = lambda inst, needs: NotImplementedError("the derivative for '_pdist_backward' is not implemented.")
