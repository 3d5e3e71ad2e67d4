"""Functions of one element: exponentials, logarithms, trigonometry, error and gamma functions, tests of single numbers."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .arithmetic import NEGATED_BOOL, no_bools
from .common import is_complex, is_float, plus_product
from .layout import chosen, elementwise_strides, kept_strides
from .casts import short
from .partials import Over
from .registry import op


def declare(name, f, doc, grad, aliases=(), **options):
    """An operator that is one JAX function on floating (or complex) elements; integers become the default float."""
    options.setdefault("inplace", True)

    def body(self):
        return f(self)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor self) -> Tensor", promote="float", grad=grad if "Backward" in grad else grad + "Backward0", aliases=aliases,
              **options)(body)


def _no_slope_in_place(inst, needs):
    """back_refuses of inverses whose in-place forms have no derivative in torch."""
    name = inst.grad_fn_name
    if name.endswith("1"):
        return NotImplementedError(f"the derivative for 'inplace version of {name.removesuffix('Backward1').lower()}' is not implemented.")
    return None


def _log_to(base, plain):
    """The logarithm; of float32 by way of float64: a quotient of float32 would miss log10(1e-9) = -9."""
    def log(x):
        return (jnp.log(x.astype(np.float64)) * (1 / math.log(base))).astype(x.dtype) if x.dtype == np.float32 else plain(x)
    return log


@jax.custom_jvp
def _complex_log1p(z):
    """log(1 + z) without cancellation in the real part near 0, nor overflow far from it."""
    x, y = jnp.real(z), jnp.imag(z)
    small = x * (2 + x) + y * y
    near = jnp.where(small == 0, x, 0.5 * jnp.log1p(small))
    far = jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.nan, jnp.log(jnp.hypot(x + 1, y)))
    return jax.lax.complex(jnp.where(jnp.abs(z) < 0.5, near, far), jnp.arctan2(y, x + 1))


@_complex_log1p.defjvp
def _complex_log1p_jvp(primals, tangents):
    z, = primals
    return _complex_log1p(z), tangents[0] / (z + 1)


# -- exponentials and logarithms ------------------------------------------------------------------------------------------
exp = declare("exp", jnp.exp, "e to the power of each element.", "Exp", rule=(lambda out, x: out,), factors=("result",))
exp2 = declare("exp2", lambda x: jnp.exp(jax.lax.complex(x.real * math.log(2), x.imag * math.log(2))) if is_complex(x) else jnp.exp2(x),
               "2 to the power of each element.", "Exp2", rule=(lambda out, x, half: [math.log(2), out],),
               grad_back=lambda inst, needs: "MulBackward1", factors=("result",))
expm1 = declare("expm1", jnp.expm1, "exp(x) - 1, exact near 0.", "Expm1", rule=(lambda out, x, half: short(out + 1, half),),
                fresh=("result",))
log = declare("log", jnp.log, "The natural logarithm.", "Log", grad_back="Div", factors=("self",))
log2 = declare("log2", _log_to(2, jnp.log2), "The logarithm to base 2.", "Log2", grad_back="Div",
               rule=(lambda out, x, half: Over(short(x * math.log(2), half)),), fresh=("self",))
log10 = declare("log10", _log_to(10, jnp.log10), "The logarithm to base 10.", "Log10", grad_back="Div",
                rule=(lambda out, x, half: Over(short(x * math.log(10), half)),), fresh=("self",))
log1p = declare("log1p", lambda x: _complex_log1p(x) if is_complex(x) else jnp.log1p(x), "log(1 + x), exact near 0.", "Log1P",
                grad_back="Div", rule=(lambda out, x, half: Over(short(x + 1, half)),), fresh=("self",))


def _sigmoid_slope(out, x, half):
    # torch's kernel rounds float16 after each step, bfloat16 once
    return (1 - out) * out if half == P.bfloat16 else [out, short(1 - out, half)]


sigmoid = declare("sigmoid", lambda x: 1 / (1 + jnp.exp(-x)) if is_complex(x) else jax.lax.logistic(x), "1 / (1 + exp(-x)).", "Sigmoid",
                  rule=(_sigmoid_slope,), grad_back="SigmoidBackward")

# -- trigonometry ------------------------------------------------------------------------------------------------------------
sin = declare("sin", jnp.sin, "The sine.", "Sin", rule=(lambda out, x, half: short(jnp.cos(x), half),))
cos = declare("cos", jnp.cos, "The cosine.", "Cos", rule=(lambda out, x, half: -short(jnp.sin(x), half),))
tan = declare("tan", jnp.tan, "The tangent.", "Tan", rule=(lambda out, x, half: short(1 + short(out * out, half), half),))


def _root_below(sign, plus):
    """A partial derivative 1 / sqrt(sign * x ** 2 + plus), one step after the other."""
    def slope(out, x, half):
        return short(jax.lax.rsqrt(short(sign * short(x * x, half) + plus, half)), half)
    return slope


asin = declare("asin", jnp.arcsin, "The inverse of sin.", "Asin", ("arcsin",), rule=(_root_below(-1, 1),), grad_back="Div")
acos = declare("acos", lambda x: math.pi / 2 - jnp.arcsin(x) if x.dtype == np.complex128 else jnp.arccos(x), "The inverse of cos.", "Acos",
               ("arccos",), rule=(lambda out, x, half: -_root_below(-1, 1)(out, x, half),), grad_back="Div")
atan = declare("atan", jnp.arctan, "The inverse of tan.", "Atan", ("arctan",),
               rule=(lambda out, x, half: Over(short(short(x * x, half) + 1, half)),), grad_back="Div")
sinh = declare("sinh", jnp.sinh, "The hyperbolic sine.", "Sinh", rule=(lambda out, x, half: short(jnp.cosh(x), half),))
cosh = declare("cosh", jnp.cosh, "The hyperbolic cosine.", "Cosh", rule=(lambda out, x, half: short(jnp.sinh(x), half),))
tanh = declare("tanh", jnp.tanh, "The hyperbolic tangent.", "Tanh", rule=(lambda out, x: plus_product(jnp.ones((), out.dtype), -out, out),),
               grad_back="TanhBackward")
asinh = declare("asinh", jnp.arcsinh, "The inverse of sinh.", "Asinh", ("arcsinh",), inplace_grad="AsinhBackward1",
                back_refuses=_no_slope_in_place, rule=(_root_below(1, 1),))
acosh = declare("acosh", jnp.arccosh, "The inverse of cosh.", "Acosh", ("arccosh",), inplace_grad="AcoshBackward1",
                back_refuses=_no_slope_in_place,
                rule=(lambda out, x, half: jax.lax.rsqrt(x + 1) * jax.lax.rsqrt(x - 1) if is_complex(x) else _root_below(1, -1)(out, x, half),))
atanh = declare("atanh", jnp.arctanh, "The inverse of tanh.", "Atanh", ("arctanh",), inplace_grad="AtanhBackward1",
                back_refuses=_no_slope_in_place, rule=(lambda out, x, half: Over(short(1 - short(x * x, half), half)),), grad_back="Div",
                fresh=("grad",))


def _factors_of_angle(made, asked):
    # grad * other * recip, and grad * -self * recip, of recip = 1 / (self * self + other * other)
    looked = asked & {"self", "other"}
    looked |= {"other"} if "self" in made and "grad" in asked else set()
    return looked | {"grad"} if "self" in made and "other" in asked or "other" in made and "self" in asked else looked


@op("atan2(Tensor self, Tensor other) -> Tensor", promote="float", grad="Atan2Backward0", inplace="method", numbers=(),
    aliases=("arctan2",), refuses=("atan2_cpu", "c"),
    rule=(lambda out, y, x, half: _over_square(x, y, x, half), lambda out, y, x, half: _over_square(-y, y, x, half)), twice="zeros",
    back_refuses=no_bools((0, 1), text=NEGATED_BOOL), factors=_factors_of_angle)
def atan2(self, other):
    """The angle of the point (other, self)."""
    return jnp.arctan2(self, other)


def _over_square(a, y, x, half):
    size = short(short(y * y, half) + short(x * x, half), half)
    return [jnp.where(size == 0, 0, short(1 / size, half)), a]         # whose own derivative is nan there


def _sinc_slope(out, x, half):
    above, below = _sinc_quotient(x, half)
    return below != 0, short(above / jnp.where(below == 0, 1, below), half)


def _sinc_quotient(x, half):
    at = short(math.pi * x, half)
    return (short(short(at * short(jnp.cos(at), half), half) - short(jnp.sin(at), half), half), short(math.pi * short(x * x, half), half))


def _sinc_back(g, x, half):
    """torch divides at 0, too, and does not take that: the second derivative is nan there."""
    above, below = _sinc_quotient(x, half)
    slope = short(above / below, half)
    return jnp.where(below == 0, 0, short(g * (jnp.conj(slope) if is_complex(x) else slope), half)),


sinc = declare("sinc", lambda x: jnp.where(x == 0, 1, jnp.sin(math.pi * x) / jnp.where(x == 0, 1, math.pi * x)),
               "sin(pi x) / (pi x), 1 at 0.", "Sinc", rule=(_sinc_slope,), pullback=_sinc_back, twice="zeros", grad_back="Where")


def _no_complex(name):
    def check(self):
        if P.kind_of(self.dtype) == 3:
            raise RuntimeError(f"{name} is not supported for complex tensors.")
    return check


deg2rad = declare("deg2rad", lambda x: x * np.asarray(math.pi / 180, x.dtype), "Degrees to radians.", "Deg2Rad",
                  check=_no_complex("deg2rad"), by_out="deg2rad")
rad2deg = declare("rad2deg", lambda x: x * np.asarray(180 / math.pi, x.dtype), "Radians to degrees.", "Rad2Deg",
                  check=_no_complex("rad2deg"), by_out="rad2deg")

# -- error and gamma functions ---------------------------------------------------------------------------------------------
def _bell(size):
    """A partial derivative size * exp(-x ** 2)."""
    def slope(out, x, half):
        return short(size * short(jnp.exp(-short(x * x, half)), half), half)
    return slope


erf = declare("erf", jax.lax.erf, "The error function.", "Erf", lie=chosen, refuses=("erf_vml_cpu", "c"),
              rule=(_bell(2 / math.sqrt(math.pi)),))
erfc = declare("erfc", jax.lax.erfc, "1 - erf(x), exact where erf is near 1.", "Erfc", refuses=("erfc_vml_cpu", "c"),
               rule=(_bell(-2 / math.sqrt(math.pi)),))


def _erfinv(x):
    """Rounded once, as torch's is, which corrects its first guess twice."""
    return jax.lax.erf_inv(x.astype(np.float64)).astype(x.dtype) if x.dtype == np.float32 else jax.lax.erf_inv(x)


def _erfinv_slope(out, x, half):
    return short(math.sqrt(math.pi) / 2 * short(jnp.exp(short(jnp.square(short(_erfinv(x), half)), half)), half), half)


erfinv = declare("erfinv", _erfinv, "The inverse of erf.", "Erfinv", inplace="method", lie=chosen, saves=("self",), grad_back="Div",
                 refuses=("erfinv_vml_cpu", "c"), rule=(_erfinv_slope,))


def _lgamma(x):
    # XLA's series leaves a rounding error at the two zeros
    return jnp.where((x == 1) | (x == 2), jnp.zeros_like(x), jax.lax.lgamma(x))


lgamma = declare("lgamma", _lgamma, "The logarithm of |gamma(x)|.", "Lgamma", inplace="method", refuses=("lgamma_vml_cpu", "c"),
                 rule=(lambda out, x, half: short(digamma_of(x), half),), twice="zeros")


# digamma of 10, and of its asymptotic series Bernoulli's numbers B(2k) / 2k, the last first
_AT_TEN = 2.251752589066721
_BERNOULLI = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


def _above_zero(x):
    """digamma of x > 0: by recurrence up to 10, from there by its asymptotic series, as torch has it step by step."""
    steps = jnp.zeros_like(x)
    for _ in range(10):
        below = x < 10
        steps = steps - jnp.where(below, 1 / x, 0)
        x = jnp.where(below, x + 1, x)
    z = 1 / (x * x)
    tail = jnp.full_like(x, _BERNOULLI[0])
    for b in _BERNOULLI[1:]:
        tail = tail * z + b
    log = jnp.log(x.astype(np.float64)).astype(x.dtype)        # rounded once: what follows cancels near the root
    return jnp.where(x == 10, steps + _AT_TEN, steps + log - 0.5 / x - jnp.where(x < 1e17, z * tail, 0))


@jax.custom_jvp
def digamma_of(x):
    """At 0 it follows the sign of zero to infinity, and is nan at the negative integers."""
    below = x < 0
    made = _above_zero(jnp.where(below, 1 - x, x))
    part = jnp.where(below, x - jnp.trunc(x), 0.25).astype(np.float64)
    made = jnp.where(below, made - (math.pi / jnp.tan(math.pi * part)).astype(x.dtype), made)
    made = jnp.where(below & (x == jnp.trunc(x)), jnp.nan, made)
    return jnp.where(x == 0, jnp.copysign(jnp.asarray(jnp.inf, x.dtype), -x), made)


@digamma_of.defjvp
def _digamma_jvp(primals, tangents):
    return digamma_of(*primals), tangents[0] * trigamma(*primals)


@jax.custom_jvp
def trigamma(x):
    """polygamma(1, x) as torch has it: by reflection below 1/2, by recurrence over six steps, and by the asymptotic series from there."""
    low = x < 0.5
    pi = np.asarray(math.pi, x.dtype)
    sine = jnp.sin((pi * x).astype(np.float64)).astype(x.dtype)        # rounded once: the places of its zeros tell
    total = jnp.where(low, -(pi * pi) / (sine * sine), 0)
    x = jnp.where(low, 1 - x, x)
    for _ in range(6):
        total, x = total + 1 / (x * x), x + 1
    y = 1 / (x * x)
    total = total + (1 + 1 / (2 * x) + y * (1 / 6 - y * (1 / 30 - y * (1 / 42)))) / x
    return jnp.where(low, -total, total)


@trigamma.defjvp
def _trigamma_jvp(primals, tangents):
    from .special import polygamma_of
    return trigamma(*primals), tangents[0] * polygamma_of(2, *primals)


digamma = declare("digamma", digamma_of, "The derivative of lgamma.", "Digamma", inplace="method", refuses=("digamma", "c"),
                  rule=(lambda out, x, half: short(trigamma(x), half),))


def _logit_slope(out, x, eps):
    by = x * (1 - x)
    if eps is None:
        return Over(jnp.where((x < 0) | (x > 1), jnp.nan, by))
    return ~((x < eps) | (x > 1 - eps)), Over(by)


@op("logit(Tensor self, float? eps=None) -> Tensor", promote="float", grad="LogitBackward0",
    grad_back="Div", inplace=True, refuses=("logit_cpu", "c"),
    rule=(_logit_slope,), half_steps=True)
def logit(self, eps, half=None):
    """log(x / (1 - x)), with x kept between eps and 1 - eps."""
    if eps is not None:
        low = short(jnp.asarray(eps).astype(self.dtype), half)
        high = short(1 - low, half)
    x = self if eps is None else jnp.where(self < low, low, jnp.where(self > high, high, self))
    return jnp.log(short(x / short(1 - x, half), half))


# -- parts of complex numbers ----------------------------------------------------------------------------------------------
@op("conj_physical.op(Tensor self) -> Tensor", elementwise=True, grad="ConjPhysicalBackward0", inplace=True,
    inplace_grad="ConjPhysicalBackward1")
def conj_physical(self):
    """The complex conjugate."""
    return jnp.conj(self) if is_complex(self) else self


@op("angle(Tensor self) -> Tensor", elementwise=True, grad="AngleBackward0", saves=("self",),
    strides=lambda inst, self: None if P.kind_of(self.dtype) == 3 else elementwise_strides((self,), self.shape))
def angle(self):
    """The angle of complex numbers; 0 or pi for real ones."""
    if is_complex(self):
        y, x = self.imag, self.real
        zero = (x == 0) & (y == 0)             # the angle itself keeps the signs of zeros; its derivative at 0 is 0
        return jnp.where(zero, jax.lax.stop_gradient(jnp.arctan2(y, x)), jnp.arctan2(jnp.where(zero, 0, y), jnp.where(zero, 1, x)))
    x = self if is_float(self) else self.astype(P.default_float)
    return jnp.where(x != x, jnp.nan, jnp.where(x < 0, np.asarray(math.pi, x.dtype), jnp.zeros_like(x)))


# -- tests of single numbers ------------------------------------------------------------------------------------------------
def test(name, f, doc, check=None, out=True, composed=False, strides=None):
    def body(self):
        return f(self)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor self) -> Tensor", elementwise=True, check=check, out=out, composed=composed, strides=strides)(body)


def _no_complex_test(message, error=RuntimeError):
    def check(self):
        if P.kind_of(self.dtype) == 3:
            raise error(message)
    return check


def _inexact(f, otherwise):
    return lambda x: f(x) if is_float(x) or is_complex(x) else jnp.full(x.shape, otherwise)


isnan = test("isnan", lambda x: x != x, "Whether each element is nan.", out=False)
isinf = test("isinf", _inexact(jnp.isinf, False), "Whether each element is infinite.", out=False)
isfinite = test("isfinite", _inexact(jnp.isfinite, True), "Whether each element is neither infinite nor nan.", out=False,
                composed=True, strides=lambda inst, x: kept_strides(x) if P.kind_of(x.dtype) < 2 else elementwise_strides([x], x.shape))
isposinf = test("isposinf", _inexact(lambda x: x == jnp.inf, False), "Whether each element is +inf.",
                _no_complex_test("isposinf does not support complex inputs."))
isneginf = test("isneginf", _inexact(lambda x: x == -jnp.inf, False), "Whether each element is -inf.",
                _no_complex_test("isneginf does not support complex inputs."))
isreal = test("isreal", lambda x: x.imag == 0 if is_complex(x) else jnp.full(x.shape, True), "Whether the imaginary part is 0.", out=False,
              strides=lambda inst, x: elementwise_strides([x], x.shape) if x.dtype.kind == "c" else kept_strides(x))
signbit = test("signbit", lambda x: jnp.signbit(x) if is_float(x) else jnp.full(x.shape, False) if x.dtype == jnp.bool_ else x < 0,
               "Whether the sign bit is set.", _no_complex_test("signbit is not implemented for complex tensors.", NotImplementedError))


@jax.custom_jvp
def _mantissa(x):
    return jnp.frexp(x)[0]


@_mantissa.defjvp
def _mantissa_jvp(primals, tangents):
    exponent = jnp.frexp(primals[0])[1]
    return _mantissa(*primals), tangents[0] * jnp.exp2(-exponent.astype(tangents[0].dtype))


@op("frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", grad="FrexpBackward0", seen=lambda inst: {0: None},
    strides=lambda inst, self: (elementwise_strides((self,), self.shape),) * 2, twice="compared", by_out="frexp")
def frexp(self):
    """self = mantissa * 2 ** exponent, with 0.5 <= |mantissa| < 1."""
    if not is_float(self):
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    x = self.astype(P.compute_dtype(self.dtype))
    fixed = jax.lax.stop_gradient(x)
    exponent = jnp.where(jnp.isfinite(fixed) & (fixed != 0), jnp.frexp(fixed)[1], 0)
    return _mantissa(x).astype(self.dtype), exponent.astype(np.int32)
