"""Reductions: sums, means, variances, extremes, counts.

Half types accumulate in float32 and round once; integers sum to int64. Gradients at ties, at zero and at nan follow torch:
they are written as tangent rules (`custom_jvp`), so that forward mode and higher derivatives come with them.
"""
from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import meta_of, warn
from ..engine.compile.gradient import conj
from ..engine.interpret.copies import contiguous
from ..engine.interpret.moments import moments
from . import promotion as P
from .clamping import maximum, minimum
from .common import as_number, half_of, is_complex, is_float, real_alone, taken, wide, wrap_dim, wrap_dims
from .layout import elementwise_strides
from .casts import cast, short
from .registry import op
from .views import expand_strides


def numbered(name):
    """The grad_fn name of a pair of overloads: 0 over everything, 1 with dimensions."""
    return lambda inst: name + ("0" if inst.layout[1] is None else "1")


def count(shape, axes):
    """How many elements each result sees."""
    return math.prod(shape if axes is None else [shape[a] for a in axes])


def summable(x, dtype):
    """(array as a sum takes it, dtype of the result)."""
    out = np.dtype(dtype) if dtype is not None else P.int64 if P.kind_of(x.dtype) < 2 else x.dtype
    return cast(x, P.compute_dtype(out)), out


def floating_result(name, x, dtype):
    """The dtype of a mean, or torch's error for integers."""
    out = np.dtype(dtype) if dtype is not None else x.dtype
    if P.kind_of(out) < 2:
        which = "Optional dtype" if dtype is not None else "Input dtype"
        raise RuntimeError(f"{name}(): could not infer output dtype. {which} must be either a floating point or complex dtype. "
                           f"Got: {P.c_name(out)}")
    return out


def _spread(inst, plan, saved, cts):
    """`lie` of a sum: its gradient is the cotangent expanded, which is no memory of its own."""
    m, (dim, keepdim), ct = inst.in_metas[0], inst.layout[1:3], cts[0]
    shape, strides = list(ct.shape), list(ct.strides)
    if dim is not None and not keepdim and m.ndim:
        for d in sorted(wrap_dims(dim, m.ndim)):
            strides.insert(d, shape[d] * strides[d] if d < len(shape) else 1)
            shape.insert(d, 1)
    return (expand_strides(meta_of(tuple(shape), ct.dtype, ct.device, tuple(strides)), m.shape),)


def _spread_anew(inst, plan, saved, cts):
    """`lie` of a mean: what is computed from that."""
    m, ct = inst.in_metas[0], cts[0]
    return (elementwise_strides([meta_of(m.shape, ct.dtype, ct.device, _spread(inst, plan, saved, cts)[0])], m.shape, True),)


# -- sums -----------------------------------------------------------------------------------------------------------------
@op("sum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad=numbered("SumBackward"),
    out="dtype", lie=_spread)
def sum_(self, dim, keepdim, dtype):
    """Sum of the elements, or along dimensions."""
    x, out = summable(self, dtype)
    return cast(jnp.sum(x, wrap_dims(dim, x.ndim), keepdims=keepdim), out)


@jax.custom_jvp
def without_nan(x):
    """x with nan as 0. The gradient is multiplied by the mask, as in torch: an infinite one gives nan there."""
    return jnp.where(jnp.isnan(x), jnp.zeros((), x.dtype), x)


@without_nan.defjvp
def _without_nan_jvp(primals, tangents):
    t = tangents[0]
    return without_nan(primals[0]), jnp.where(jnp.isnan(primals[0]), t * np.zeros((), t.dtype), t)


@op("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad="NansumBackward0", out="dtype",
    twice="compared")
def nansum(self, dim, keepdim, dtype):
    """Sum that counts nan as zero."""
    if is_complex(self):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    x, out = summable(self, dtype)
    if P.kind_of(out) == 3:
        raise NotImplementedError(f"\"nansum_cpu\" not implemented for '{P.c_name(out)}'")
    if is_float(x):
        x = without_nan(x)
    return cast(jnp.sum(x, wrap_dims(dim, x.ndim), keepdims=keepdim), out)


@op("mean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad=numbered("MeanBackward"),
    grad_back=lambda inst, needs: "DivBackward1",
    out="floating dtype", lie=_spread_anew, by_out="sum")
def mean(self, dim, keepdim, dtype):
    """Mean of the elements, or along dimensions."""
    out = floating_result("mean", self, dtype)
    x = cast(self, P.compute_dtype(out))
    axes = wrap_dims(dim, x.ndim)
    n = as_number(count(x.shape, axes), x.dtype)
    return cast(jnp.sum(x, axes, keepdims=keepdim) / n, out)


@op("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad="DivBackward0",
    twice="compared")
def nanmean(self, dim, keepdim, dtype):
    """Mean that leaves nan out."""
    if P.kind_of(self.dtype) < 2:
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got " + P.c_name(self.dtype))
    if P.kind_of(self.dtype) == 3:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    out = floating_result("nanmean", self, dtype)
    axes, bad = wrap_dims(dim, self.ndim), jnp.isnan(self)
    x = cast(self, P.compute_dtype(out))
    total = jnp.sum(without_nan(x), axes, keepdims=keepdim)
    return cast(total / jnp.sum(~bad, axes, keepdims=keepdim).astype(total.dtype), out)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _product(x, axes, keepdim, half):
    return jnp.prod(x, axes, keepdims=keepdim)


@jax.custom_jvp
def _none_of_two(gradient, two):
    """Where two factors are zero torch's derivatives are, whatever the others and what comes in; their own derivatives are as if that were
    not so."""
    return jnp.where(two, jnp.zeros_like(gradient), gradient)


@_none_of_two.defjvp
def _none_of_two_jvp(primals, tangents):
    return _none_of_two(*primals), tangents[0]


@_product.defjvp
def _product_jvp(axes, keepdim, half, primals, tangents):
    # torch's formula divides the result, as it was saved, by what is multiplied, unless something is 0: then each derivative is the
    # product of the others
    (x,), (t,) = primals, tangents
    made, zero = _product(x, axes, keepdim, half), x == 0
    whole = short(made if keepdim else jnp.expand_dims(made, axes), half)
    others, = jax.vjp(lambda x: jnp.prod(x, axes, keepdims=True), x)[1](jnp.ones_like(whole))
    some = jnp.any(zero)
    return made, jnp.sum(t * jnp.where(some, others, short(whole / jnp.where(some, jnp.ones_like(x), x), half)), axes, keepdims=keepdim)


def _product_back(inst, wrt, ins, cts):
    result, pull = jax.vjp(lambda x: inst.fn(x)[0], ins[0])
    g = conj(pull(conj(cts[0]))[0])
    return [result, _none_of_two(g, jnp.sum(ins[0] == 0) > 1) if inst.layout[1] is None and ins[0].ndim else g]


@op("prod(Tensor self, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", grad=numbered("ProdBackward"), out="dtype",
    saves=("self", "result"), twice=lambda inst: "zeros" if inst.in_metas[0].ndim else "compared")
def prod(self, dim, keepdim, dtype):
    """Product of the elements, or along a dimension."""
    x, out = summable(self, dtype)
    if x.dtype == np.bool_:
        return jnp.all(x, wrap_dims(dim, x.ndim), keepdims=keepdim)
    axes = wrap_dims(dim, x.ndim)
    if not x.ndim or P.kind_of(x.dtype) < 2:
        return cast(jnp.prod(x, axes, keepdims=keepdim), out)
    return cast(_product(x, tuple(axes), keepdim, half_of(out)), out)


def _zeros_alone(inst):
    """`twice_looks` where each product is of one factor: what torch does where any is 0 passes the cotangent on."""
    m, dim = inst.in_metas[0], inst.layout[1]
    alone = m.ndim and (m.numel == 1 if dim is None else m.numel and m.shape[wrap_dims(dim, m.ndim)[0]] == 1)
    return ((0,), 0, lambda x: bool((x == 0).any())) if alone else None


prod.rule, prod.twice_looks = _product_back, _zeros_alone


def on_diagonal(shape):
    return jax.lax.broadcasted_iota(np.int64, shape, 0) == jax.lax.broadcasted_iota(np.int64, shape, 1)


@op("trace(Tensor self) -> Tensor", grad="TraceBackward0", grad_back="View", out=False,
    rule=lambda ct, self: [jnp.where(on_diagonal(self.shape), ct, 0)])
def trace(self):
    """Sum of the diagonal of a matrix."""
    if self.dtype == np.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    x, out = summable(self, None)
    return cast(jnp.sum(jnp.diagonal(x)), out)


@op("count_nonzero(Tensor self, int[]? dim=None) -> Tensor", out=False)
def count_nonzero(self, dim):
    """How many elements are not zero."""
    return jnp.sum(self != 0, wrap_dims(dim, self.ndim), dtype=np.int64)


# -- variance -------------------------------------------------------------------------------------------------------------
@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3, 4))
def variance(x, axes, correction, keepdim, half=None):
    """Sum of squared deviations over (n - correction). half: the half type to which torch rounds the steps of its gradient."""
    if is_complex(x):
        return variance(jnp.real(x), axes, correction, keepdim) + variance(jnp.imag(x), axes, correction, keepdim)
    return _variance(x, axes, correction, keepdim).astype(x.dtype)


def _variance(x, axes, correction, keepdim):
    """In float64, as torch accumulates."""
    x = x.astype(np.float64)
    correction = math.inf if math.isnan(correction) else correction    # torch's maximum takes 0 then
    dof = jnp.maximum(as_number(count(x.shape, axes), np.float64) - correction, 0.0)
    return jnp.sum(jnp.square(x - jnp.mean(x, axes, keepdims=True)), axes, keepdims=keepdim) / dof


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3, 4))
def deviation(x, axes, correction, keepdim, half=None):
    """The root of the variance, rounded once."""
    return jnp.sqrt(variance(x, axes, correction, keepdim) if is_complex(x) else _variance(x, axes, correction, keepdim)).astype(x.real.dtype)


@deviation.defjvp
def _deviation_jvp(axes, correction, keepdim, half, primals, tangents):
    t = _variance_jvp(axes, correction, keepdim, half, primals, tangents)[1]
    made = deviation(*primals, axes, correction, keepdim, half)
    y = short(made, half)
    flat = y == 0
    return made, jnp.where(flat, 0, short(t, half) / (2 * jnp.where(flat, 1, y)))


@variance.defjvp
def _variance_jvp(axes, correction, keepdim, half, primals, tangents):
    (x,), (t,) = primals, tangents
    d = short(x - short(jnp.mean(x, axes, keepdims=True), half), half)
    if axes is None and not math.prod(x.shape) > math.floor(correction):               # torch's formula where nothing is left to divide by
        slope = jnp.where(d == 0, np.nan, np.inf).astype(t.real.dtype)
        return variance(x, axes, correction, keepdim, half), jnp.sum(jnp.real(t) * slope, axes, keepdims=keepdim)
    dt = jnp.real(jnp.conj(d) * t) if is_complex(x) else d * t
    dof = (as_number(count(x.shape, axes), np.float64) - correction).astype(dt.dtype)          # torch's derivative lets it become negative
    with np.errstate(divide="ignore"):
        return variance(x, axes, correction, keepdim, half), short(jnp.sum(dt, axes, keepdims=keepdim), half) * (2 / dof)


@jax.custom_jvp
def root(x):
    """Square root whose gradient at zero is zero."""
    return jnp.sqrt(x)


@root.defjvp
def _root_jvp(primals, tangents):
    y = root(primals[0])
    flat = y == 0
    return y, jnp.where(flat, 0, tangents[0] / (2 * jnp.where(flat, 1, y)))


def refuse_integers(x, name):
    if P.kind_of(x.dtype) < 2:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")


def spread_args(self, dim, correction):
    """(accumulation array, axes or None for everything, correction) of the variance family."""
    axes = wrap_dims(dim, self.ndim)
    axes = None if dim is None or not self.ndim else axes
    return wide(self), axes, 1.0 if correction is None else float(correction)


def real_dtype(d):
    return {P.complex64: P.float32, P.complex128: P.float64}.get(np.dtype(d), np.dtype(d))


def few_degrees(name):
    """torch's warning where nothing is left to divide by."""
    def precheck(self, dim=None, correction=1, *rest):
        refuse_integers(self, name if name.endswith("_mean") else "std and var")
        axes = wrap_dims(dim, self.ndim)
        if math.prod([self.shape[a] for a in axes]) - (1 if correction is None else correction) <= 0:
            warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
                 "divided by output numel).")
    return precheck


def _spread_on_host(name, given):
    """`host` of var and its kin; given(layout): (dim, correction). Rows of float32 that are summed whole."""
    def host(inst):
        m, (dim, correction) = inst.in_metas[0], given(inst.layout)
        axes = wrap_dims(dim, m.ndim)
        if m.dtype != P.float32 or not m.numel or not axes or sorted(axes) != [*range(m.ndim - len(axes), m.ndim)]:
            return None
        n = count(m.shape, axes)
        found, dof, shape = moments(m.numel // n, n), n - (1.0 if correction is None else float(correction)), inst.out_metas[0].shape
        dof = np.float64(max(dof, 0.0) if dof == dof else 0.0)

        def run(x):
            x = contiguous(np.asarray(x))
            means, squares = found(x)
            if len(inst.out_metas) > 1 and n > 1 and np.isinf(means).any():
                means[np.isinf(means) & _lost_at_infinity(x, n)] = np.nan
            squares /= dof
            made = np.sqrt(squares, squares) if name.startswith("std") else squares
            return [a.astype(P.float32).reshape(shape) for a in (made, means)[:len(inst.out_metas)]]
        return run
    return host


def declare_spread(name, grad, compute, returns="Tensor", **options):
    """The three overloads of var and its kin: compute(self, dim, correction, keepdim)."""
    few, single = few_degrees(name), returns == "Tensor"

    @op(f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {returns}", grad=grad,
        precheck=lambda self, dim, unbiased, keepdim: few(self, dim, int(unbiased)),
        host=_spread_on_host(name, lambda layout: layout[1:3]), out=single, **options)
    def along_dims(self, dim, unbiased, keepdim):
        return compute(self, dim, int(unbiased), keepdim)

    with_correction = op(f"{name}.correction(Tensor self, int[1]? dim=None, *, Number? correction=None, bool keepdim=False) -> {returns}",
                         grad=grad, precheck=few, host=_spread_on_host(name, lambda layout: layout[1:3]), out=single, **options)(compute)

    @op(f"{name}(Tensor self, bool unbiased=True) -> {returns}", grad=grad,
        precheck=lambda self, unbiased: few(self, None, int(unbiased)), out=False,
        host=_spread_on_host(name, lambda layout: (None, layout[1])), **options)
    def everything(self, unbiased):
        return compute(self, None, int(unbiased), False)
    everything.doc = along_dims.doc = with_correction.doc


def var(self, dim, correction, keepdim):
    """Variance; `correction` is subtracted from the number of elements (1: Bessel's), `unbiased` is a correction of 1 or 0."""
    return variance(*spread_args(self, dim, correction), keepdim, half_of(self.dtype)).astype(real_dtype(self.dtype))


def std(self, dim, correction, keepdim):
    """Standard deviation; `correction` is subtracted from the number of elements (1: Bessel's), `unbiased` is a correction of 1 or 0."""
    return deviation(*spread_args(self, dim, correction), keepdim, half_of(self.dtype)).astype(real_dtype(self.dtype))


def _lost_at_infinity(x, n):
    """Of rows of n numbers whose mean is infinite, whether torch's running mean is nan: it goes on after an infinity."""
    return np.isinf(x).reshape(-1, n)[:, :-1].any(1)


def mean_of(self, dim, keepdim):
    """The mean as a running one gives it."""
    axes = wrap_dims(dim, self.ndim)

    def of_real(x):
        made = jnp.mean(x.astype(np.float64), axes, keepdims=keepdim)
        n = count(x.shape, axes)
        if not x.ndim or n < 2:
            return made
        last = [d for d in range(x.ndim) if d not in axes]
        rows = jnp.transpose(jnp.isinf(x), last + sorted(axes)).reshape(*[x.shape[d] for d in last], n)
        return jnp.where(jnp.isinf(made) & rows[..., :-1].any(-1).reshape(made.shape), jnp.nan, made)
    if is_complex(self):
        return jax.lax.complex(of_real(self.real), of_real(self.imag)).astype(self.dtype)
    return of_real(wide(self)).astype(self.dtype)


def var_mean(self, dim, correction, keepdim):
    """Variance and mean."""
    return var(self, dim, correction, keepdim), mean_of(self, dim, keepdim)


def std_mean(self, dim, correction, keepdim):
    """Standard deviation and mean."""
    return std(self, dim, correction, keepdim), mean_of(self, dim, keepdim)


def _without_degrees(inst):
    """torch's gradient of the variance of too few numbers is NaN or infinity, whichever they are."""
    m, (dim, correction) = inst.in_metas[0], (None, inst.layout[1]) if len(inst.layout) == 2 else inst.layout[1:3]
    whole = not m.ndim or dim in (None, ())
    return "compared" if whole and m.numel <= (1 if correction is None else correction) else None


def _by_sum(inst):
    """One result is made by a loop of its own, which asks for the mean."""
    m = inst.in_metas[0]
    return "sum" if inst.out.numel == 1 and m.numel and m.dtype in (P.float32, P.float64) else None


declare_spread("var", "VarBackward0", var, twice=_without_degrees, by_out=_by_sum, fresh=("grad",))
declare_spread("std", "StdBackward0", std, saves=("self", "result"), by_out=_by_sum)
declare_spread("var_mean", "VarMeanBackward0", var_mean, "(Tensor, Tensor)", method=False, twice=_without_degrees,
               fresh=("grad",))
declare_spread("std_mean", "StdMeanBackward0", std_mean, "(Tensor, Tensor)", method=False, saves=("self", "result"))


# -- extremes -------------------------------------------------------------------------------------------------------------
@partial(jax.custom_jvp, nondiff_argnums=(3,))
def chosen(x, index, values, axis):
    """`values`, which are x at `index` along `axis`: the gradient goes to those places."""
    return values


@chosen.defjvp
def _chosen_jvp(axis, primals, tangents):
    (x, index, values), t = primals, tangents[0]
    values = chosen(x, index, values, axis)        # what else is made of them has a derivative of its own
    if not index.size:
        return values, jnp.zeros(values.shape, t.dtype)
    if index.shape[axis] == 1:
        here = jax.lax.broadcasted_iota(index.dtype, x.shape, axis) == index
        return values, jnp.sum(jnp.where(here, t, jnp.zeros((), t.dtype)), axis, keepdims=True)
    return values, taken(t, index, axis)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def evenly(x, value, axes=None, nan=True):
    """`value`, the extremes of x along axes: the gradient is shared by all that equal them. `nan`: so do nan."""
    return value


@evenly.defjvp
def _evenly_jvp(axes, nan, primals, tangents):
    (x, value), t = primals, tangents[0]
    axes = tuple(range(x.ndim)) if axes is None else axes
    kept = value.ndim == x.ndim
    v = value if kept else jnp.expand_dims(value, axes)
    same = (x == v) | ((x != x) & (v != v)) if nan else x == v
    n = jnp.sum(same, axes, keepdims=True).astype(t.dtype)
    if nan:                                    # torch writes the gradient where the mask is; transposed, it is divided first
        return value, jnp.sum(jnp.where(same, t, jnp.zeros((), t.dtype)) / n, axes, keepdims=kept)
    # written out because XLA makes a select of a product with a mask: 0 / 0 would become 0
    share = jnp.where(n == 0, jnp.asarray(np.nan, t.dtype), same.astype(t.dtype))
    return value, jnp.sum(share * t / n, axes, keepdims=kept)


def nonempty(name, x, dim, axes):
    """torch's errors for an extreme of nothing."""
    if dim is None or dim == ():
        if not x.size:
            raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                               "the 'dim' argument.")
        return
    for a, told in zip(axes, dim if isinstance(dim, (tuple, list)) else (dim,)):
        if x.ndim and x.shape[a] == 0:
            told = told if name in ("amax", "amin") else a       # the others have counted it from the front by then
            raise IndexError(f"{name}(): Expected reduction dim {told} to have non-zero size.")


def orderable(name, x):
    if is_complex(x):
        raise RuntimeError(f"{name}(): does not support complex input")


def unsupported(kernel, x):
    return NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(x.dtype)}'")


def extreme(reduce, x, axes, keepdim=False):
    """Largest or smallest along axes, of any real dtype."""
    if x.dtype == np.bool_:
        return reduce(x.astype(np.uint8), axes, keepdims=keepdim) != 0
    return reduce(x, axes, keepdims=keepdim)


def _all_extreme(name, self, reduce):
    nonempty(name, self, None, ())
    if is_complex(self):
        raise unsupported(name + "_all", self)
    value = extreme(reduce, jax.lax.stop_gradient(self), None)
    return evenly(self, value) if is_float(self) else value


@op("max(Tensor self) -> Tensor", grad="MaxBackward1", saves=("self", "result"), twice="compared", plain_gradients=True)
def max_all(self):
    """The largest element."""
    return _all_extreme("max", self, jnp.max)


@op("min(Tensor self) -> Tensor", grad="MinBackward1", saves=("self", "result"), twice="compared", plain_gradients=True)
def min_all(self):
    """The smallest element."""
    return _all_extreme("min", self, jnp.min)


def place(x, dim, largest, keepdim=True):
    """Index of the first extreme along a dimension; a nan is the most extreme."""
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    # 32-bit indices where they suffice: they also compile inside a program of the user's that has no 64-bit types
    width = np.int32 if x.shape[dim] < 2 ** 31 else np.int64
    at = (jax.lax.argmax if largest else jax.lax.argmin)(x, dim, width).astype(np.int64)
    return jnp.expand_dims(at, dim) if keepdim else at


def along(name, x, dim):
    """A dimension to choose from, wrapped, and the array with at least that dimension."""
    d = wrap_dim(dim, x.ndim)
    nonempty(name, x, dim, (d,))
    return d, (x if x.ndim else x.reshape(1))


def shaped(x, d, ndim, keepdim):
    """A result computed with the dimension kept, as the caller wants it."""
    if not ndim:
        return x.reshape(())
    return x if keepdim else jnp.squeeze(x, d)


def picked(x, index, d, ndim, keepdim):
    """(values, indices) at one place along `d`."""
    result = shaped(index, d, ndim, keepdim)
    index = result.reshape(index.shape)           # the gradient goes by what is returned: nothing else need be kept
    values = taken(jax.lax.stop_gradient(x), index, d)
    if jnp.issubdtype(x.dtype, jnp.inexact):
        values = chosen(x, index, values, d)
    return shaped(values, d, ndim, keepdim), result


op("max.other(Tensor self, Tensor other) -> Tensor", promote="arith", grad="MaximumBackward0", numbers=(), check=maximum.check,
   rule=maximum.partials, twice="compared")(maximum.body)


def _picked_on_host(largest):
    """`picked`, in three calls of NumPy."""
    find = np.ndarray.argmax if largest else np.ndarray.argmin

    def host(inst):
        m, out = inst.in_metas[0], inst.out_metas[0].shape
        if m.dtype.kind not in "fiu" or m.dtype.isbuiltin != 1 or not m.ndim or not m.numel or np.intp != np.int64:
            return None
        d = wrap_dim(inst.layout[1], m.ndim)
        n, inner = m.shape[d], math.prod(m.shape[d + 1:])
        first = np.arange(m.numel // n)        # where each of them begins to look
        first = first * n if inner == 1 else first % inner + first // inner * (inner * n)

        def run(x):
            x = np.asarray(x)
            at = find(x, d)
            values = x.reshape(-1).take((at if inner == 1 else at * inner).reshape(-1) + first)
            return values.reshape(out), at.reshape(out)
        return run
    return host


@op("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", host=_picked_on_host(True),
    grad="MaxBackward0", saves=("indices",), twice="compared", plain_gradients=True)
def max_dim(self, dim, keepdim):
    """Largest elements along a dimension and where they are."""
    nonempty("max", self, dim, (wrap_dim(dim, self.ndim),))
    orderable("max", self)
    d, x = along("max", self, dim)
    return picked(x, place(x, d, True), d, self.ndim, keepdim)


op("min.other(Tensor self, Tensor other) -> Tensor", promote="arith", grad="MinimumBackward0", numbers=(), check=minimum.check,
   rule=minimum.partials, twice="compared")(minimum.body)


@op("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", host=_picked_on_host(False),
    grad="MinBackward0", saves=("indices",), twice="compared", plain_gradients=True)
def min_dim(self, dim, keepdim):
    """Smallest elements along a dimension and where they are."""
    nonempty("min", self, dim, (wrap_dim(dim, self.ndim),))
    orderable("min", self)
    d, x = along("min", self, dim)
    return picked(x, place(x, d, False), d, self.ndim, keepdim)


def shared_extreme(reduce, x, axes, keepdim):
    """Extremes along axes; a nan among them leaves no one to share the gradient: it becomes nan, as in torch."""
    value = extreme(reduce, jax.lax.stop_gradient(x), axes, keepdim)
    return evenly(x, value, axes, False) if is_float(x) else value


def _amaximum(name, kernel, self, dim, keepdim, reduce):
    if not self.size:                          # torch names the dimension as it was given
        nonempty(name, self, dim, [wrap_dim(d, self.ndim) for d in ((dim,) if dim.__class__ is int else dim or ())])
    axes = wrap_dims(dim, self.ndim)
    if is_complex(self):
        if not self.size:
            return jnp.sum(self, axes, keepdims=keepdim)       # of nothing, or refused before
        raise unsupported(kernel, self)
    return shared_extreme(reduce, self, axes, keepdim)


@op("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", grad="AmaxBackward0", saves=("self", "result"),
    twice="compared", grad_for=real_alone)
def amax(self, dim, keepdim):
    """Largest elements along dimensions; equal ones share the gradient."""
    return _amaximum("amax", "max_values_cpu", self, dim, keepdim, jnp.max)


@op("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", grad="AminBackward0", saves=("self", "result"),
    twice="compared", grad_for=real_alone)
def amin(self, dim, keepdim):
    """Smallest elements along dimensions; equal ones share the gradient."""
    return _amaximum("amin", "min_values_cpu", self, dim, keepdim, jnp.min)


@op("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", grad="AminmaxBackward0",
    saves=("self", "min", "max"), twice="compared")
def aminmax(self, dim, keepdim):
    """Smallest and largest elements."""
    axes = None
    if dim is None:
        if not self.size:
            raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    else:
        axes = wrap_dims(dim, self.ndim)
        if self.ndim and self.shape[axes[0]] == 0:
            raise IndexError(f"aminmax: Expected reduction dim {axes[0]} to have non-zero size.")
    if is_complex(self):
        raise unsupported("aminmax_cpu", self) if dim is None or self.ndim else RuntimeError(
            f"aminmax not implemented for {P.c_name(self.dtype)}")
    return shared_extreme(jnp.min, self, axes, keepdim), shared_extreme(jnp.max, self, axes, keepdim)


def _argument(name, self, dim, keepdim, largest):
    if self.dtype == np.bool_:
        raise RuntimeError(f"{name}(): does not support bool input")
    orderable(name, self)
    d = None if dim is None else wrap_dim(dim, self.ndim)
    if d is None and not self.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    nonempty(name, self, 0, () if d is None else (d,))
    if d is None:
        at = place(self.reshape(-1), 0, largest, False)
        return at.reshape((1,) * self.ndim) if keepdim else at
    x = self if self.ndim else self.reshape(1)
    return shaped(place(x, d, largest), d, self.ndim, keepdim)


def _argument_on_host(largest):
    """NumPy's own, which flattens by itself; short floats have none."""
    find = np.ndarray.argmax if largest else np.ndarray.argmin

    def host(inst):
        m, shape, dim = inst.in_metas[0], inst.out_metas[0].shape, inst.layout[1]
        if m.dtype.kind not in "fiu" or m.dtype.isbuiltin != 1 or dim is not None and not m.ndim or np.intp != np.int64:
            return None
        if not shape:
            return lambda x: [np.asarray(find(np.asarray(x)))]
        return lambda x: [np.asarray(find(np.asarray(x), dim)).reshape(shape)]
    return host


@op("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", host=_argument_on_host(True))
def argmax(self, dim, keepdim):
    """Where the largest element is."""
    return _argument("argmax", self, dim, keepdim, True)


@op("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", host=_argument_on_host(False))
def argmin(self, dim, keepdim):
    """Where the smallest element is."""
    return _argument("argmin", self, dim, keepdim, False)


# -- truth ----------------------------------------------------------------------------------------------------------------
def _truth(self, dim, keepdim, reduce):
    # unlike everywhere else an empty list of dimensions reduces none
    axes = () if dim == () else wrap_dims(dim, self.ndim)
    out = reduce(self if self.dtype == bool else self != 0, axes, keepdims=keepdim)
    return out.astype(np.uint8) if self.dtype == np.uint8 else out


@op("all(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
def all_(self, dim, keepdim):
    """Whether all elements are true."""
    return _truth(self, dim, keepdim, jnp.all)


@op("any(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
def any_(self, dim, keepdim):
    """Whether any element is true."""
    return _truth(self, dim, keepdim, jnp.any)
