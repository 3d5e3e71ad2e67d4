"""Signs and sizes of elements, and their rounding."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .arithmetic import NEGATED_BOOL, named, refuse_bool
from .common import direction, is_complex, is_float, length, real_alone
from .layout import kept_strides
from .loops import while_loop
from .registry import both_factors, op


# -- signs -------------------------------------------------------------------------------------------------------------
@jax.custom_jvp
def _size(x):
    return jnp.abs(x)


@_size.defjvp
def _size_jvp(primals, tangents):
    return _size(*primals), tangents[0] * sign.body(*primals)


def magnitude(x):
    """|x| with torch's gradient at 0 and at nan, which is 0; that of jnp.abs is 1."""
    if is_complex(x):
        return length(x)
    return _size(x) if is_float(x) else jnp.abs(x)


@op("abs(Tensor self) -> Tensor", elementwise=True, grad="AbsBackward0", inplace=True, refuses=("abs_cpu", "b"), by_out="abs",
    twice_saves=both_factors)
def abs(self):
    """The absolute value."""
    return magnitude(self)


@op("absolute(Tensor self) -> Tensor", elementwise=True, grad="AbsBackward0", inplace="method", refuses=("abs_cpu", "b"), by_out="abs",
    twice_saves=both_factors)
def absolute(self):
    """The absolute value."""
    return magnitude(self)


@op("neg(Tensor self) -> Tensor", elementwise=True, grad="NegBackward0", grad_back=True, inplace=True, aliases=("negative",),
    check=refuse_bool(NEGATED_BOOL))
def neg(self):
    """-self."""
    return -self


def check_sign(self):
    if P.kind_of(self.dtype) == 3:
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")


@op("sign(Tensor self) -> Tensor", elementwise=True, grad="SignBackward0", inplace="method", check=check_sign)
def sign(self):
    """-1, 0 or 1; 0 for nan."""
    if self.dtype == jnp.bool_:
        return self
    if not is_float(self):
        return jnp.sign(self)
    return jnp.where(self > 0, 1, jnp.where(self < 0, -1, 0)).astype(self.dtype)      # 0 for -0.0 too


@op("sgn(Tensor self) -> Tensor", elementwise=True, grad="SgnBackward0", inplace="method", saves=("self", "result"))
def sgn(self):
    """self / |self|, 0 at 0."""
    if not is_complex(self):
        return sign.body(self)
    return direction(self, length(self))


def _copysign_ratio(out, self, other):
    """The size's slope, a quotient with a hole: what it is differentiated by where self is 0 is nan, as in torch."""
    return jnp.where(self == 0, 0, out / self)


@op("copysign(Tensor self, Tensor other) -> Tensor", promote="float", grad=named(("Copysign", 0, 1)), inplace="method",
    refuses=("copysign_cpu", "c"), rule=(_copysign_ratio, lambda out, self, other: jnp.zeros(out.shape, bool)), saves=("result",),
    twice=frozenset((1,)))
def copysign(self, other):
    """The size of self with the sign of other."""
    return jnp.copysign(self, other)


def check_heaviside(self, values):
    if P.kind_of(self.dtype) == 3 or P.kind_of(values.dtype) == 3:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@op("heaviside(Tensor self, Tensor values) -> Tensor", promote="arith", grad="NotImplemented", inplace="method", numbers=(),
    check=check_heaviside)
def heaviside(self, values):
    """0 below 0, 1 above, `values` at 0."""
    return jnp.where(self == 0, values, (self > 0).astype(self.dtype))


# -- rounding ----------------------------------------------------------------------------------------------------------
def check_real(name):
    def check(self):
        if P.kind_of(self.dtype) == 3:
            raise NotImplementedError(f"{name} is not supported for complex inputs")
    return check


def _rounded(f):
    return lambda x: f(x) if is_float(x) else x


@op("floor(Tensor self) -> Tensor", elementwise=True, grad="FloorBackward0", inplace=True, check=check_real("floor"),
    refuses=("floor_vml_cpu", "b"))
def floor(self):
    """Rounded down."""
    return _rounded(jnp.floor)(self)


@op("ceil(Tensor self) -> Tensor", elementwise=True, grad="CeilBackward0", inplace=True, check=check_real("ceil"),
    refuses=("ceil_vml_cpu", "b"))
def ceil(self):
    """Rounded up."""
    return _rounded(jnp.ceil)(self)


@op("trunc(Tensor self) -> Tensor", elementwise=True, grad="TruncBackward0", inplace=True, check=check_real("trunc"),
    refuses=("trunc_vml_cpu", "b"), aliases=("fix",))
def trunc(self):
    """Rounded towards zero."""
    return _rounded(jnp.trunc)(self)


def check_round(self, decimals):
    if decimals is not ... and P.kind_of(self.dtype) != 2:
        raise NotImplementedError(f'"round{"" if decimals else "_vml"}_cpu" not implemented for \'{P.c_name(self.dtype)}\'')


@op("round(Tensor self, *, int decimals=...) -> Tensor", promote="arith", inplace=True, refuses=("round_vml_cpu", "bc"), check=check_round,
    grad=lambda inst: "RoundBackward0" if inst.layout[1] is ... else "RoundBackward1")
def round(self, decimals):
    """Rounded half to even, at `decimals` digits after the point."""
    if not is_float(self):
        return self
    if decimals is ... or not decimals:
        return jnp.round(self)
    scale = np.asarray(10.0 ** (decimals if decimals > 0 else -decimals), self.dtype)
    return jnp.round(self * scale) / scale if decimals > 0 else jnp.round(self / scale) * scale


@op("frac(Tensor self) -> Tensor", passing=("self",), promote="arith", grad="FracBackward0", inplace=True, refuses=("frac_cpu", "bic"))
def frac(self):
    """The part after the point."""
    return self - jnp.trunc(self)


@op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", elementwise=True, inplace=True,
    grad="NanToNumBackward0", twice="compared", grad_for=real_alone, strides=lambda inst, self, *rest: kept_strides(self),
    by_out="nan_to_num")
def nan_to_num(self, nan, posinf, neginf):
    """nan by 0, infinities by the largest finite numbers, or by what is given."""
    if is_complex(self):
        return jax.lax.complex(*[nan_to_num.body(x, nan, posinf, neginf) for x in (self.real, self.imag)])
    if not is_float(self):
        return self
    limits = jnp.finfo(self.dtype)
    given = lambda x, default: jnp.asarray(default if x is None else x).astype(self.dtype)
    x = jnp.where(self == jnp.inf, given(posinf, limits.max), jnp.where(self == -jnp.inf, given(neginf, limits.min), self))
    return jnp.where(self != self, given(nan, 0), x)


# -- integers and neighbours -----------------------------------------------------------------------------------------------
def common_divisor(a, b):
    """Euclid's algorithm; jnp.gcd does not end for the smallest int8."""
    def step(pair):
        a, b = pair
        return jnp.where(b == 0, a, b), jnp.where(b == 0, b, jax.lax.rem(a, jnp.where(b == 0, 1, b)))
    return jnp.abs(while_loop(lambda pair: (pair[1] != 0).any(), step, (a, b))[0])


@op("gcd(Tensor self, Tensor other) -> Tensor", promote="arith", inplace=True, inplace_grad="NotImplemented", numbers=(),
    refuses=("gcd_cpu", "bfc"))
def gcd(self, other):
    """The greatest common divisor."""
    return common_divisor(self, other)


@op("lcm(Tensor self, Tensor other) -> Tensor", promote="arith", inplace=True, inplace_grad="NotImplemented", numbers=(),
    refuses=("lcm_cpu", "bfc"))
def lcm(self, other):
    """The least common multiple."""
    g = common_divisor(self, other)
    wide = jnp.int64 if self.dtype.itemsize < 8 else self.dtype        # |a * b| is taken before it wraps, as in C
    a, b = jax.lax.div(self, jnp.where(g == 0, 1, g)).astype(wide), other.astype(wide)
    return jnp.abs(a * b).astype(self.dtype)


@op("nextafter(Tensor self, Tensor other) -> Tensor", promote="arith", grad="NextafterBackward0", inplace="method", numbers=(),
    half_steps=True, refuses=("nextafter_cpu", "bic"), twice="compared",
    rule=(lambda out, self, other, half=None: self != other, lambda out, self, other, half=None: jnp.zeros(out.shape, bool)))
def nextafter(self, other, half=None):
    """The next number from self in the direction of other."""
    if half is None:
        return jax.lax.nextafter(self, other)
    return jnp.where(self == other, other, jax.lax.nextafter(self.astype(half), other.astype(half)).astype(self.dtype))
