"""Results that run along a dimension (cumulative sums, differences), histograms and cross products."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.interpret import build, order_rules, scan_rules
from . import promotion as P
from .common import is_complex, is_float, real_alone, taken, wide, wrap_dim
from .index import Elements, into
from .layout import broadcast_shapes, part_strides
from .loops import kernel, scan
from .reduction import chosen, summable, unsupported
from .casts import cast
from .registry import op


def _scanned(name, scan, self, dim, dtype):
    x, out = summable(self, dtype)
    d = wrap_dim(dim, x.ndim)
    if x.dtype == np.bool_:
        raise unsupported(f"{name}_out_cpu", x)
    return cast(scan(x, axis=d) if x.ndim and x.shape[d] != 1 else x, out)


@op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", plain_gradients=True, grad="CumsumBackward0",
    grad_back="Flip", inplace=True,
    out="dtype")
def cumsum(self, dim, dtype):
    """Sum of the elements so far."""
    return _scanned("cumsum", jax.lax.cumsum, self, dim, dtype)


def _back_on_host(make):
    """`host_back` of an operator whose gradient `make` makes from its operand and result; what that leaves is what JAX makes of it."""
    def host_back(inst, plan):
        m = inst.in_metas[0]
        if m.dtype not in (P.float32, P.float64) or inst.out_metas[0].dtype != m.dtype or not m.ndim or not m.numel or plan.nums:
            return None
        if (plan.args, plan.outs, plan.cts) != ((0,), (0,), (0,)) or m.shape[wrap_dim(inst.layout[1], m.ndim)] == 1:
            return None
        slow = functools.cache(lambda: build(plan.vjp.resolve((), (), plan.vjp_kinds).jaxpr, guard=False))
        return make(m.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype, lambda *args: slow()(*args))
    return host_back


def _of_one(inst):
    """Where there is one element along the dimension its gradient is the cotangent."""
    m = inst.in_metas[0]
    return "compared" if m.numel <= 1 or m.shape[wrap_dim(inst.layout[1], m.ndim)] == 1 else None


@op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", plain_gradients=True, grad="CumprodBackward0", factors=("self",),
    grad_back="Div", inplace=True,
    out="dtype",
    saves=("self", "result"), twice=_of_one, host_back=_back_on_host(scan_rules.product_back))
def cumprod(self, dim, dtype):
    """Product of the elements so far."""
    return _scanned("cumprod", jax.lax.cumprod, self, dim, dtype)


@kernel
def latest_places(new):
    """Where the latest true element so far is, along the last dimension; 0 before the first."""
    at = jax.lax.broadcasted_iota(np.int64, new.shape, new.ndim - 1)
    return jax.lax.cummax(jnp.where(new, at, jnp.zeros_like(at)), axis=new.ndim - 1)


@kernel
def signed_as_placed(values, x, index):
    """Along the last dimension: values of 0 with the signs that x has at the places `index`, where a comparison alone would take either."""
    return jnp.where(values == 0, taken(x, index, values.ndim - 1), values)


def _extreme_so_far(name, self, dim, scan):
    if not self.ndim and not -1 <= dim <= 0:
        raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    if not self.size:
        return self, jnp.zeros(self.shape, np.int64)       # torch does not look at the dimension then
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return self, jnp.zeros((), np.int64)
    if is_complex(self):
        raise unsupported(name + "_cpu", self)
    x = jax.lax.stop_gradient(self)
    x = x.astype(np.uint8) if x.dtype == np.bool_ else x
    values = scan(x, axis=d)
    # equal elements move the index on, and so does every nan
    new = (x == values) | (x != x)
    index = jnp.moveaxis(latest_places(jnp.moveaxis(new, d, -1)), -1, d)
    if self.shape[d] == 1 or not self.size:
        return self, index
    values = cast(values, self.dtype)
    if is_float(self):
        values = jnp.moveaxis(signed_as_placed(*[jnp.moveaxis(a, d, -1) for a in (values, x, index)]), -1, d)
    return (chosen(self, index, values, d) if is_float(self) else values), index


def _extremes_on_host(ufunc):
    def host(inst):
        m = inst.in_metas[0]
        if m.dtype in (P.float32, P.float64) and m.ndim and m.numel and np.intp == np.int64:
            return scan_rules.extremes_so_far(ufunc, m.shape, wrap_dim(inst.layout[1], m.ndim), m.dtype)
    return host


def _of_nothing(inst):
    """An empty operand is its own gradient."""
    return "compared" if inst.in_metas[0].numel else "operand"


@op("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", plain_gradients=True, grad="CummaxBackward0", saves=("self",
    "indices"), twice=_of_nothing, host=_extremes_on_host(np.maximum), grad_for=real_alone, by_out="cummax")
def cummax(self, dim):
    """Largest element so far and where it is."""
    return _extreme_so_far("cummax", self, dim, jax.lax.cummax)


@op("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", grad="CumminBackward0", saves=("self", "indices"), twice=_of_nothing,
    host=_extremes_on_host(np.minimum), grad_for=real_alone, by_out="cummin")
def cummin(self, dim):
    """Smallest element so far and where it is."""
    return _extreme_so_far("cummin", self, dim, jax.lax.cummin)


def _logcumsumexp_back(ct, self, dim, result):
    """From behind and by logarithms, those of positive cotangents and of negative ones apart, as torch does: what is infinite shows it."""
    if not self.ndim or not self.size:
        return [ct]
    d = wrap_dim(dim, self.ndim)
    if is_complex(self):
        return [jnp.conj(jax.vjp(lambda x: _complex_logcumsumexp(x, d), self)[1](jnp.conj(ct))[0])]
    logs, none = jnp.log(jnp.abs(ct)), jnp.finfo(ct.dtype).min
    positive, negative = [jnp.exp(jax.lax.cumlogsumexp(jnp.where(mask, logs, none) - result, axis=d, reverse=True) + self)
                          for mask in (ct > 0, ct < 0)]
    return [positive - negative]


def _logcumsumexp_linear(inst, ins, nums, outs, cts):
    x, d = wide(ins[0]), inst.layout[1]
    if not x.ndim or is_complex(x):
        return _logcumsumexp_back(cts[0], x, d, outs[0])
    return jax.vjp(lambda x: jax.lax.cumlogsumexp(x, axis=wrap_dim(d, x.ndim)), x)[1](cts[0].astype(x.dtype))


@op("logcumsumexp(Tensor self, int dim) -> Tensor", rule=_logcumsumexp_back, linear_rule=_logcumsumexp_linear, grad_back="Sub", plain_gradients=True,
    grad="LogcumsumexpBackward0", saves=("self", "result"),
    twice=lambda inst: "zeros" if inst.in_metas[0].numel and inst.in_metas[0].ndim else "compared",
    host_back=_back_on_host(scan_rules.logsumexp_back), fresh=("grad",))
def logcumsumexp(self, dim):
    """log of the sum of the exponentials so far."""
    d = wrap_dim(dim, self.ndim)
    if P.kind_of(self.dtype) < 2:
        raise unsupported("logcumsumexp_out_cpu", self)
    if not self.ndim:
        return self
    x = wide(self)
    if is_complex(x):
        return _complex_logcumsumexp(x, d)
    return jax.lax.cumlogsumexp(x + 0, axis=d).astype(self.dtype)          # torch adds the first element to 0, too: a -0 becomes 0


def _complex_logcumsumexp(x, d):
    """One after the other as torch does: the imaginary part is not wrapped to (-pi, pi], so the order shows."""
    def add(so_far, z):
        z_is_low = jnp.real(z) < jnp.real(so_far)
        low, high = jnp.where(z_is_low, z, so_far), jnp.where(z_is_low, so_far, z)
        infinite = (jnp.real(low) == jnp.real(high)) & jnp.isinf(jnp.real(low))
        finite = jnp.isfinite(jnp.real(low) - jnp.real(high))
        gap = jnp.where(finite, low, 0) - jnp.where(finite, high, 0)
        size = jnp.exp(jnp.real(gap))
        ratio = jnp.where(finite, jax.lax.complex(size * jnp.cos(jnp.imag(gap)), size * jnp.sin(jnp.imag(gap))), 0)
        alike = jnp.where(jnp.real(low) < 0, low, jax.lax.stop_gradient(_sum_of_infinite(low, high)))
        out = jnp.where(infinite, alike, _log1p(ratio) + high)
        out = jnp.where(jnp.isnan(z) | jnp.isnan(so_far), nan, out)
        return out, out
    rows = jnp.moveaxis(x, d, 0)
    if not rows.shape[0]:
        return x
    nan = jnp.asarray(complex(np.nan, np.nan), x.dtype)
    first = jnp.where(jnp.isnan(rows[0]), nan, jnp.where(jnp.real(rows[0]) == -np.inf, jnp.asarray(-np.inf, x.dtype), rows[0] + 0))
    _, rest = scan(add, first, rows[1:])
    return jnp.moveaxis(jnp.concatenate([first[None], rest]), 0, d)


def _log1p(z):
    """As torch has it: by log1p near 0, else by the absolute value."""
    x, y = jnp.real(z), jnp.imag(z)
    near = jnp.abs(z) < 0.5
    square = jnp.where(near, x * (2 + x) + y * y, 0)
    far = jnp.log(jnp.hypot(jnp.where(near, 0, x) + 1, y))
    return jax.lax.complex(jnp.where(near, jnp.where(square == 0, x, jnp.log1p(square) / 2), far), jnp.arctan2(y, x + 1))


def _sum_of_infinite(a, b):
    """log(exp(a) + exp(b)) of two numbers whose real parts are infinite: what is left is the angle, where there is one."""
    def side(part, *of):
        return sum([jnp.where(jnp.isfinite(z.imag), jnp.where(part(z.imag) == 0, 0, part(z.imag) * np.inf), np.nan) for z in of])
    re, im = side(jnp.cos, a, b), side(jnp.sin, a, b)
    return jax.lax.complex(jnp.where(jnp.isinf(re) | jnp.isinf(im), np.inf, np.nan).astype(re.dtype), jnp.arctan2(im, re))


@op("diff.some(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", plain_gradients=True,
    grad="SubBackward0", composed=True,
    strides=lambda inst, self, n, dim, prepend, append: part_strides(inst, self) if prepend is append is None and n else None)
def diff(self, n, dim, prepend, append):
    """The n-th difference along a dimension."""
    if not self.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, self.ndim)
    if n == 0:
        return self
    parts = [a for a in (prepend, self, append) if a is not None]
    common = parts[0].dtype
    for a in parts[1:]:
        common = P.promote(common, a.dtype)
    for a in parts:
        if a.ndim != self.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i in range(self.ndim):
            if i != d and a.shape[i] != self.shape[i]:
                raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except along the "
                                   f"differencing dimension; input.size({i}) = {self.shape[i]}, but got tensor.size({i}) = {a.shape[i]}")
    x = jnp.concatenate([a.astype(common) for a in parts], d) if len(parts) > 1 else self
    for _ in range(min(n, x.shape[d])):
        later, earlier = jax.lax.slice_in_dim(x, 1, None, axis=d), jax.lax.slice_in_dim(x, 0, -1, axis=d)
        x = later ^ earlier if x.dtype == np.bool_ else later - earlier
    return x


@op("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", grad="LinalgCrossBackward0",
    grad_back="LinalgCross", namespace="linalg", method=False)
def linalg_cross(self, other, dim):
    """Cross product along a dimension of length 3."""
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if self.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[d]} and {other.shape[d]}")
    if self.dtype == np.bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {P.c_name(self.dtype)} but found {P.c_name(other.dtype)}")
    at = lambda x, i: jnp.roll(x, -i, d)
    shape = broadcast_shapes([self.shape, other.shape])
    x, y = (jnp.broadcast_to(wide(a), shape) for a in (self, other))
    return (at(x, 1) * at(y, 2) - at(x, 2) * at(y, 1)).astype(self.dtype)


# -- histograms -----------------------------------------------------------------------------------------------------------
def _histc_on_host(inst):
    (m,), bins = inst.in_metas, inst.layout[1]
    return order_rules.histogram(m.dtype, bins) if m.dtype in (P.float32, P.float64) else None


@op("histc.in(Tensor self, int bins, float min, float max) -> Tensor", sizes=("bins",), apart=1, host=_histc_on_host)
def histc(self, bins, min, max):
    """How many elements lie in each of `bins` equal intervals of [min, max]."""
    if not is_float(self):
        raise unsupported("histogram_cpu", self)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    x = wide(self).reshape(-1)
    low, high = min.astype(x.dtype), max.astype(x.dtype)
    flat = low == high
    low, high = jnp.where(flat, low - 1, low), jnp.where(flat, high + 1, high)
    place = jnp.floor((x - low) / (high - low) * bins)
    inside = (x >= low) & (x <= high)
    place = jnp.clip(jnp.where(inside, place, 0).astype(np.int64), 0, bins - 1)
    counts = jnp.zeros(bins, np.int64).at[place].add(inside.astype(np.int64), mode="promise_in_bounds")
    return counts.astype(self.dtype)


@op("bincount.sized(Tensor self, Tensor? weights, int length) -> Tensor", sizes=("length",), apart=1)
def bincount(self, weights, length):
    """How often each of 0 … length-1 occurs, or the sum of its weights."""
    if weights is None:
        amount, dtype = jnp.ones(self.shape, np.int64), np.int64
    else:
        dtype = weights.dtype if weights.dtype == P.float32 else P.float64
        amount = cast(weights, dtype)
    return into(jnp.zeros(length, dtype), Elements(0, self.astype(np.int64)), amount, "add")
