"""Norms of vectors, distances, and logarithms of sums of exponentials. Gradients at zero, at ties and at nan follow torch, as tangent rules."""
from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .arithmetic import check_sub
from .common import direction, half_of, is_complex, length, peak, wide, wrap_dim, wrap_dims
from .layout import broadcast_shapes
from .reduction import count, real_dtype
from .casts import cast, short
from .registry import SI, op


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def log_sum_exp(x, axes, keepdim, half=None):
    """log(sum(exp(x))) without overflow. half: the half type to which torch rounds its steps."""
    if not count(x.shape, axes):
        return jnp.log(jnp.sum(x, axes, keepdims=keepdim))
    top = peak(jnp.real(x), axes)
    top = jnp.where(jnp.isinf(top), jnp.zeros_like(top), top)
    total = jnp.sum(short(jnp.exp(short(x - top, half)), half), axes, keepdims=True)
    total = short(jnp.log(short(total, half)), half) + top
    return total if keepdim else jnp.squeeze(total, axes)


@log_sum_exp.defjvp
def _log_sum_exp_jvp(axes, keepdim, half, primals, tangents):
    (x,), (t,) = primals, tangents
    out = log_sum_exp(x, axes, keepdim, half)
    seen = short(out if keepdim else jnp.expand_dims(out, axes), half)
    weight = short(jnp.exp(short(x - seen, half)), half)
    return out, jnp.sum(weight * t, axes, keepdims=keepdim)


def _refuse_no_dims(self, dim, keepdim):
    """Without dimensions torch keeps them all while it computes, and looks at the result's shape afterwards."""
    if dim == () and not keepdim and self.ndim and self.numel:
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * self.ndim}")


@op("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", grad="LogsumexpBackward0", aliases=("special.logsumexp",),
    saves=("self", "result"), by_out="logsumexp", check=_refuse_no_dims)
def logsumexp(self, dim, keepdim):
    """log of the sum of the exponentials along dimensions."""
    x = wide(self) if P.kind_of(self.dtype) > 1 else self.astype(P.default_float)
    out = self.dtype if P.kind_of(self.dtype) > 1 else P.default_float
    return log_sum_exp(x, wrap_dims(dim, x.ndim), keepdim, half_of(out)).astype(out)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3, 4))
def p_norm(x, p, axes, keepdim, half=None):
    """(sum |x|^p)^(1/p) along axes, with the limits at 0 and infinity. half: the half type to which torch rounds the steps of its gradient."""
    alone = p and count(x.shape, axes) == 1    # whose power may be infinite
    if p == 2 and not is_complex(x) and not alone:
        return jnp.sqrt(jnp.sum(x * x, axes, keepdims=keepdim))
    a = length(x) if is_complex(x) else jnp.abs(x)
    if alone:
        return jnp.sum(a, axes, keepdims=keepdim)
    if p == math.inf:
        return jnp.max(a, axes, keepdims=keepdim)
    if p == -math.inf:
        return jnp.min(a, axes, keepdims=keepdim)
    if p == 0:
        return jnp.sum((x != 0).astype(a.dtype), axes, keepdims=keepdim)
    if p == 1:
        return jnp.sum(a, axes, keepdims=keepdim)
    if p == 2:
        return jnp.sqrt(jnp.sum(jnp.real(x) ** 2 + jnp.imag(x) ** 2, axes, keepdims=keepdim))
    return jnp.sum(a ** p, axes, keepdims=keepdim) ** (1 / p)


@p_norm.defjvp
def _p_norm_jvp(p, axes, keepdim, half, primals, tangents):
    (x,), (t,) = primals, tangents
    out = p_norm(x, p, axes, keepdim, half)
    n = short(out if keepdim else jnp.expand_dims(out, axes), half)
    slope, divisor = _norm_slope(x, n, p, axes, half)
    dt = jnp.real(jnp.conj(slope) * t) if is_complex(x) else slope * t
    total = jnp.sum(dt, axes, keepdims=keepdim)
    if divisor is None:
        return out, total
    # a quotient whose cotangent is divided first, as in torch
    divisor = divisor if keepdim else jnp.squeeze(divisor, axes)
    zero = divisor == 0
    return out, jnp.where(zero, 0, short(total, half) / jnp.where(zero, 1, divisor))


def _norm_slope(x, n, p, axes, half):
    """d norm / d x, and what its sum over the tangent is divided by, or None; zero where the norm is zero."""
    if p == 0:
        return jnp.zeros_like(x), None
    if p == 1:
        return sgn(x), None
    if p == 2:
        return jnp.where(n == 0, jnp.zeros_like(x), short(x / n, half)), None
    a = length(x) if is_complex(x) else jnp.abs(x)
    if math.isinf(p):
        same = (a == n) | jnp.isnan(a)
        return sgn(x) * same.astype(a.dtype) / jnp.sum(same, axes, keepdims=True).astype(a.dtype), None
    if p < 1:
        return sgn(x) * jnp.where(a == 0, jnp.zeros_like(a), a ** (p - 1)) * n ** (1 - p), None
    divisor = short(n ** (p - 1), half)
    return (sgn(x) * short(a ** (p - 1), half) if p < 2 else short(x * short(a ** (p - 2), half), half)), divisor


def sgn(x):
    """x / |x|, and 0 at 0 and at nan."""
    if not is_complex(x):
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    return direction(x, length(x))


def refuse_integers(x):
    """torch's refusal of what has no norm."""
    if P.kind_of(x.dtype) < 2:
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {P.c_name(x.dtype)}")


def nothing_to_compare(p):
    """torch's error for a norm of this order of a tensor without elements."""
    return RuntimeError(f"linalg.vector_norm cannot compute the {shown_order(p)} norm on an empty tensor because the operation does not "
                        "have an identity")


def vector_norm(x, p, dim, keepdim, dtype):
    """Norm with torch's dtype rules and its refusals of empty dimensions."""
    refuse_integers(x)
    if dtype is not None:
        wanted = np.dtype(dtype)
        if P.kind_of(wanted) < 2:
            raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {P.c_name(wanted)}")
        if is_complex(x) != (P.kind_of(wanted) == 3):
            kind = "complex" if is_complex(x) else "floating point"
            raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind if kind == 'complex' else 'real'} inputs, "
                               f"but got {P.c_name(wanted)}")
        if P.promote(x.dtype, wanted) != wanted:
            raise RuntimeError("linalg.vector_norm: the dtype of the input "
                               f"({P.c_name(x.dtype)}) should be convertible without narrowing to the specified dtype ({P.c_name(wanted)})")
        x = cast(x, wanted)
    axes = wrap_dims(dim, x.ndim)
    if (p < 0 or p == math.inf) and not count(x.shape, axes):
        if dim is None or dim == ():
            raise nothing_to_compare(p)
        a = next(told for a, told in zip(axes, dim if isinstance(dim, (tuple, list)) else (dim,)) if not x.shape[a])
        raise RuntimeError(f"linalg.vector_norm cannot compute the {shown_order(p)} norm on the dimension {a}because this dimension is "
                           "empty and the operation does not have an identity")
    return p_norm(wide(x), p, axes, keepdim, half_of(x.dtype)).astype(real_dtype(x.dtype))


def shown_order(p):
    """An order as torch's errors write it: 3.0 is 3."""
    return f"{p:g}" if isinstance(p, float) else p


def _counts(place):
    """Whether the order at this place of a call is 0: such a norm counts."""
    return lambda *layout: layout[place] == 0


def check_order(self, ord, *rest):
    if isinstance(ord, str):
        raise TypeError("linalg_vector_norm(): argument 'ord' (position 2) must be Number, not str")


def _signs_and_factor(place):
    """`twice_saves` of a norm whose order is the argument at `place`: the signs that sum absolute values keep what they are of, which `dist`
    made for itself, and have a history."""
    def kept(inst, wrt):
        last = len(inst.in_metas) - 1
        return (~last, *((~0,) if place == 1 else ())) if inst.op.inst.layout[place] == 1 and any([i < last for i in wrt]) else None
    return kept


@op("linalg_vector_norm(Tensor self, Number ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    grad="LinalgVectorNormBackward0", namespace="linalg", method=False, check=check_order, saves=("self", "result"),
    twice_saves=_signs_and_factor(1),
    nowhere=_counts(1))
def linalg_vector_norm(self, ord, dim, keepdim, dtype):
    """The vector norm of any order; its gradient at zero is zero."""
    return vector_norm(self, float(ord), dim, keepdim, dtype)


@op("norm.along(Tensor self, Number p, int[1] dim, bool keepdim=False) -> Tensor", grad="NormBackward1", function=False, method=False,
    saves=("self", "result"), nowhere=_counts(1), twice_saves=_signs_and_factor(1))
def norm_along(self, p, dim, keepdim):
    """The vector norm under its older name."""
    return vector_norm(self, float(p), dim, keepdim, None)


def _negated_nothing(inst, needs):
    """torch negates the first operand's gradient for the second one's."""
    if inst.layout[2] == 0 and 1 in needs:
        return "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"
    return None


def _check_dist(self, other, p):
    check_sub(self, other, SI)
    broadcast_shapes([self.shape, other.shape])


@op("dist(Tensor self, Tensor other, Number p=2) -> Tensor", grad="DistBackward0", saves=("self", "other", "result"), check=_check_dist,
    fresh=("self", "other"), twice_saves=_signs_and_factor(2),
    nowhere=_counts(2), back_refuses=_negated_nothing, out=False)
def dist(self, other, p):
    """The p-norm of the difference."""
    d = P.result_type([x.dtype for x in (self, other) if x.ndim], [x.dtype for x in (self, other) if not x.ndim], ())
    x = self.astype(d) - other.astype(d)
    if P.kind_of(x.dtype) < 2:
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {P.c_name(x.dtype)} instead.")
    return vector_norm(x, float(p), None, False, None)


@op("nuclear_norm.matrix(Tensor self, int[] dim, bool keepdim) -> Tensor", grad="SumBackward1", seen=lambda inst: {0: None})
def nuclear_norm(self, dim, keepdim):
    """Sum of the singular values."""
    if P.compute_dtype(self.dtype) != self.dtype:
        raise RuntimeError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {P.c_name(self.dtype)}")
    axes = tuple(wrap_dim(d, self.ndim) for d in dim)
    if P.kind_of(self.dtype) < 2:
        raise RuntimeError(f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {P.c_name(self.dtype)}")
    out = jnp.sum(jnp.linalg.svd(jnp.moveaxis(wide(self), axes, (-2, -1)), compute_uv=False), -1)
    return (jnp.expand_dims(out, axes) if keepdim else out).astype(real_dtype(self.dtype))
