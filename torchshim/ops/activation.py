"""Activation functions of torch.nn.functional (and those that torch has too)."""
from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.interpret import fused
from . import promotion as P
from .common import half_of, is_complex, plus_product, real_alone, wrap_dim
from .layout import chosen, contiguous, kept_strides, part_strides
from .casts import short
from .registry import pullback_rule, NUMBER_KIND, SF, every_operand, op, the_operand

NUMBERS = frozenset(NUMBER_KIND)
FUNCTIONAL = dict(promote="arith", namespace="nn.functional", method=False)


def no_bool(message):
    def check(self, *rest):
        if self.dtype == np.bool_:
            raise RuntimeError(message)
        if P.kind_of(self.dtype) == 3:
            raise NotImplementedError("clamp is not supported for complex types")
    return check


# -- pieces of lines ---------------------------------------------------------------------------------------------------
@op("relu(Tensor self) -> Tensor", lie=chosen, promote="arith", out=False, grad="ReluBackward0", grad_back="ThresholdBackward",
    inplace=True,
    functional="inplace", check=no_bool("Boolean inputs not supported for relu"), rule=(lambda out, x: ~(out <= 0),))
def relu(self):
    """max(x, 0)."""
    return jnp.maximum(0, self)


def _as_operand(inst, self, *numbers):
    """The strides of what is written into an empty tensor that is made like the operand."""
    return kept_strides(self)


@op("relu6(Tensor self) -> Tensor", strides=_as_operand, grad="HardtanhBackward0", grad_back="HardtanhBackward", inplace="method",
    functional="inplace", **FUNCTIONAL, check=no_bool("Bool inputs not supported for hardtanh"),
    rule=(lambda out, x: ~((x <= 0) | (x >= 6)),), by_out="hardtanh", twice_saves=the_operand)
def relu6(self):
    """x between 0 and 6."""
    return jnp.minimum(6, jnp.maximum(0, self))           # in this order a zero keeps its sign


def check_hardtanh(self, low, high):
    no_bool("Bool inputs not supported for hardtanh")(self)
    if self.dtype == np.uint8 and low is SF:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def refuse_empty_range(self, min_val, max_val):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if min_val < 0 and getattr(self, "dtype", None) == np.uint8:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


@op("hardtanh(Tensor self, Scalar min_val=-1.0, Scalar max_val=1.0) -> Tensor", grad="HardtanhBackward0", grad_back="HardtanhBackward",
    inplace=True, functional="inplace", **FUNCTIONAL, check=check_hardtanh, precheck=refuse_empty_range, strides=_as_operand,
    rule=(lambda out, x, low, high: ~((x <= low) | (x >= high)),), twice="zeros", by_out="hardtanh",
    twice_saves=the_operand)
def hardtanh(self, min_val, max_val):
    """x between min_val and max_val."""
    low, high = jnp.asarray(min_val, self.dtype), jnp.asarray(max_val, self.dtype)
    return jnp.minimum(high, jnp.maximum(low, self))


def _no_negative_slope(text):
    """back_refuses: in place only the result is kept, which of a negative slope does not tell the operand's sign."""
    text += (" backward calculation is triggered with a negative slope which is not supported. This is caused by calling in-place forward "
             "function with a negative slope, please call out-of-place version instead.")
    if "leaky" in text:
        text += (" File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation "
                 "with negative slope")
    return lambda inst, needs: text if inst.op.writes and inst.layout[1].__class__ in (int, float) and inst.layout[1] < 0 else None


_LEAKY = _no_negative_slope("In-place leakyReLu")


def _leaky_on_host(inst):
    slope = inst.layout[1]
    if inst.in_metas[0].dtype in (P.float32, P.float64) and (slope is SF or slope.__class__ is float):
        return fused.leaky_relu(inst.out.dtype, None if slope is SF else slope)


@op("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", lie=chosen, grad="LeakyReluBackward0", grad_back="LeakyReluBackward",
    inplace=True, back_refuses=_LEAKY,
    inplace_grad="LeakyReluBackward1", inplace_keeps=True, functional="inplace", refuses=("leaky_relu_cpu", "bic"), **FUNCTIONAL,
    rule=(lambda out, x, slope: jnp.where(x > 0, 1, slope).astype(out.dtype),), twice="zeros", twice_saves=the_operand,
    host=_leaky_on_host)
def leaky_relu(self, negative_slope):
    """x, times negative_slope below 0."""
    return jnp.where(self > 0, self, self * negative_slope)


@op("rrelu.mean(Tensor self, Scalar slope) -> Tensor", promote="arith", grad="RreluWithNoiseBackward0", inplace=True,
    inplace_grad="RreluWithNoiseBackward1", refuses=("leaky_relu_cpu", "bic"), strides=contiguous, twice="zeros", back_refuses=_LEAKY)
def rrelu(self, slope):
    """x, times the slope below 0."""
    return jnp.where(self > 0, self, self * slope)


@op("rrelu.noise(Tensor self, Tensor noise) -> Tensor", promote="arith", grad="RreluWithNoiseBackward0", inplace=True,
    inplace_grad="RreluWithNoiseBackward1", refuses=("rrelu_with_noise_out_cpu", "bic"), nondiff=("noise",), strides=contiguous,
    saves=("self", "noise"), twice="zeros")
def rrelu_noisy(self, noise):
    """x, times its slope."""
    return self * noise


@op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", promote="arith", grad="ThresholdBackward0",
    grad_back="ThresholdBackward", inplace=True, inplace_grad="ThresholdBackward1", functional="inplace", method=False,
    refuses=("threshold_cpu", "bc"), overlap="fill", twice_saves=the_operand)
def threshold(self, threshold, value):
    """x where above the threshold, `value` elsewhere."""
    return jnp.where(self <= threshold, value, self)


@op("hardsigmoid(Tensor self) -> Tensor", grad="HardsigmoidBackward0", inplace="method", functional="inplace", **FUNCTIONAL,
    refuses=("hardsigmoid_cpu", "bic"), rule=(lambda out, x: ((x > -3) & (x < 3), jnp.float32(1 / 6).astype(x.dtype)),),
    grad_back=lambda inst, needs: "NotImplemented", twice="zeros")
def hardsigmoid(self):
    """(x + 3) / 6 between 0 and 1."""
    return jnp.minimum(jnp.maximum(self + 3, 0), 6) / 6


@op("hardswish(Tensor self) -> Tensor", grad="HardswishBackward0", grad_back="HardswishBackward", inplace="method", functional="inplace",
    **FUNCTIONAL, refuses=("hardswish_cpu", "bic"),
    rule=(lambda out, x: (~(x <= -3), jnp.where(x < 3, jnp.maximum(x, -3) / 3 + 0.5, 1)),))
def hardswish(self):
    """x * hardsigmoid(x)."""
    return self * jnp.minimum(jnp.maximum(self + 3, 0), 6) / 6


@op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", promote="arith", grad="HardshrinkBackward0", grad_back="HardshrinkBackward",
    functional=True, refuses=("hardshrink_cpu", "bic"), half_steps=True, twice="zeros",
    twice_saves=the_operand)
def hardshrink(self, lambd, half=None):
    """0 between -lambd and lambd, x elsewhere."""
    if half is not None:
        lambd = jnp.asarray(lambd).astype(half).astype(self.dtype)
    return jnp.where((self >= -lambd) & (self <= lambd), 0, self)


def check_softshrink(self, lambd):
    if P.kind_of(self.dtype) != 2:
        raise NotImplementedError(f'"softshrink_check" not implemented for \'{P.c_name(self.dtype)}\'')


def refuse_out_of_range(self, lambd):
    if not isinstance(lambd, complex) and P.kind_of(self.dtype) == 2:
        most = float(jnp.finfo(self.dtype).max)
        if not 0 <= lambd <= most:             # nor NaN
            raise RuntimeError(f"lambda must be in range [0, {most:g}] for input dtype {P.c_name(self.dtype)}, but found {lambd:g}")


@op("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", grad="SoftshrinkBackward0", grad_back="SoftshrinkBackward",
    check=check_softshrink, precheck=refuse_out_of_range, **FUNCTIONAL, twice="zeros", twice_saves=the_operand,
    rule=(lambda out, self, lambd: ~((self >= -lambd) & (self <= lambd)),))
def softshrink(self, lambd):
    """x moved by lambd towards 0, and 0 within lambd of it."""
    moved = jnp.where(self > lambd, self - lambd, self + lambd)
    return jnp.where((self >= -lambd) & (self <= lambd), 0 * self, moved)


# -- exponential -------------------------------------------------------------------------------------------------------
def _elu(x, alpha, scale=1.0, slope=1.0):
    below = jnp.where(x < 0, x, 0)             # an overflow on the other side would make the gradient nan
    return jnp.where(x < 0, scale * alpha * jnp.expm1(below * slope), x * scale)


def _elu_slope(x, alpha, scale=1.0, slope=1.0):
    below = jnp.where(x < 0, x, 0)             # strictly: torch's second derivative at 0 is 0
    return jnp.where(x <= 0, scale * alpha * slope * jnp.exp(below * slope), scale)


_ELU = _no_negative_slope("In-place elu")


@op("elu(Tensor self, Scalar alpha=1.0) -> Tensor", back_refuses=_ELU, grad="EluBackward0",
    grad_back="EluBackward", inplace=True, inplace_grad="EluBackward1",
    inplace_keeps=True, functional="inplace", refuses=("elu_cpu", "bic"), **FUNCTIONAL, rule=(lambda out, x, alpha: _elu_slope(x, alpha),))
def elu(self, alpha):
    """x above 0, alpha * (exp(x) - 1) below."""
    return _elu(self, alpha)


_ALPHA, _SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op("selu(Tensor self) -> Tensor", promote="arith", out=False, grad="EluBackward0", grad_back="EluBackward", inplace=True,
    inplace_grad="EluBackward1", inplace_keeps=True, functional="inplace", method=False, refuses=("elu_cpu", "bic"),
    rule=(lambda out, x: _elu_slope(x, _ALPHA, _SCALE).astype(out.dtype),))
def selu(self):
    """The self-normalizing elu."""
    return _elu(self, _ALPHA, _SCALE)


def refuse_zero_alpha(self, alpha):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


def _by_float(alpha, dtype):
    """1 / alpha as torch's backward has it, which takes alpha for a float32."""
    return (1 / jnp.asarray(alpha).astype(np.float32).astype(np.float64)).astype(dtype)


@op("celu(Tensor self, Scalar alpha=1.0) -> Tensor", promote="arith", out=False, grad="CeluBackward0", grad_back="EluBackward",
    inplace=True, inplace_grad="CeluBackward1", inplace_keeps=True, functional="inplace", method=False, refuses=("elu_cpu", "bic"),
    precheck=refuse_zero_alpha, back_refuses=_ELU,
    rule=(lambda out, x, alpha: _elu_slope(x, alpha, 1.0, _by_float(alpha, x.dtype)).astype(out.dtype),))
def celu(self, alpha):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    return _elu(self, alpha, 1.0, 1 / alpha)


@jax.custom_jvp
def _share(x):
    """The sigmoid as torch's gradient of softplus has it."""
    z = jnp.exp(x)
    return z / (z + 1)


@_share.defjvp
def _share_jvp(primals, tangents):
    s = jax.lax.logistic(primals[0])
    return _share(*primals), tangents[0] * s * (1 - s)


@op("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", grad="SoftplusBackward0", grad_back="SoftplusBackward",
    refuses=("softplus_cpu", "bic"), **FUNCTIONAL,
    rule=(lambda out, x, beta, threshold: jnp.where(x * beta > threshold, 1, _share(jnp.minimum(x * beta, threshold))).astype(out.dtype),),
    twice="zeros")
def softplus(self, beta, threshold):
    """log(1 + exp(beta x)) / beta, and x where that is the same."""
    z = self * beta
    return jnp.where(z > threshold, self, jnp.log1p(jnp.exp(z)) / beta)


@jax.custom_jvp
def _logsigmoid_slope(x):
    """The sigmoid of -x as torch's gradient has it."""
    z = jnp.exp(-jnp.abs(x))
    z = z / (1 + z)
    return jnp.where(x < 0, 1 - z, z)


@_logsigmoid_slope.defjvp
def _logsigmoid_slope_jvp(primals, tangents):
    s = jax.lax.logistic(*primals)
    return _logsigmoid_slope(*primals), tangents[0] * (s - 1) * s


@op("logsigmoid(Tensor self) -> Tensor", grad="LogSigmoidBackward0", grad_back="LogSigmoidBackward", refuses=("log_sigmoid_cpu", "bic"),
    strides=contiguous, **FUNCTIONAL, rule=(lambda out, x: _logsigmoid_slope(x),))
def logsigmoid(self):
    """log(sigmoid(x)) without overflow."""
    return jnp.minimum(self, 0) - jnp.log1p(jnp.exp(-jnp.abs(self)))


@op("silu(Tensor self) -> Tensor", grad="SiluBackward0", inplace="method", functional="inplace", refuses=("silu_cpu", "bi"), grad_for=real_alone,
    host=lambda inst: fused.silu if fused.many(inst.in_metas[0]) else None,
    host_back=lambda inst, plan: fused.silu_back if fused.many(inst.in_metas[0]) and plan.args == (0,) and not plan.outs else None,
    **FUNCTIONAL)
def silu(self):
    """x * sigmoid(x)."""
    return self / (1 + jnp.exp(-self)) if is_complex(self) else _silu(self)


@jax.custom_jvp
def _silu(x):
    return x / (1 + jnp.exp(-x))               # a product with the sigmoid would be 0 where that is, and torch's is not yet


@_silu.defjvp
def _silu_jvp(primals, tangents):
    x, = primals
    s = jax.lax.logistic(x)
    one = jnp.ones((), x.dtype)
    return _silu(x), tangents[0] * plus_product(one, x, 1 - s) * s         # in the gradient the sigmoid comes first, as in torch


@op("mish(Tensor self) -> Tensor", grad="MishBackward0", inplace="method", functional="inplace", refuses=("mish_cpu", "bic"), **FUNCTIONAL)
def mish(self):
    """x * tanh(softplus(x))."""
    return self * jnp.tanh(jnp.logaddexp(self, 0.0))


def check_gelu(self, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


@jax.custom_jvp
def _gelu(x):
    return 0.5 * x * (1 + jax.lax.erf(x * math.sqrt(0.5)))


@_gelu.defjvp
def _gelu_jvp(primals, tangents):
    x, = primals
    p = 0.5 * (1 + jax.lax.erf(x * math.sqrt(0.5)))
    density = jnp.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return _gelu(x), tangents[0] * (p + x * density)        # finite where the cotangent is infinite and x is 0


def _gelu_on_host(exact, by_tanh):
    def chosen(inst):
        if inst.in_metas[0].dtype == P.float32:
            return by_tanh if "tanh" in inst.layout else exact
    return chosen


@op("gelu(Tensor self, *, str approximate='none') -> Tensor", grad="GeluBackward0", grad_back="GeluBackward", check=check_gelu,
    refuses=("GeluKernelImpl", "bic"), host=_gelu_on_host(fused.gelu, fused.gelu_tanh),
    host_back=lambda inst, plan: _gelu_on_host(fused.gelu_back, fused.gelu_tanh_back)(inst)
    if plan.args == (0,) and not plan.outs else None, **FUNCTIONAL)
def gelu(self, approximate):
    """x * P(X <= x) of a normal X, exact or by tanh."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)
        return 0.5 * self * (1 + jnp.tanh(inner))
    return _gelu(self)


# -- with a second operand ---------------------------------------------------------------------------------------------
def check_prelu(self, weight):
    if self.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {P.c_name(self.dtype)} and {P.c_name(weight.dtype)}")
    channels = self.shape[1] if self.ndim > 1 else 1
    if weight.numel != 1:
        if not self.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.numel != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel} and "
                               f"channel size = {channels}.")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if P.kind_of(self.dtype) != 2:
        raise NotImplementedError(f'"prelu_cpu" not implemented for \'{P.c_name(self.dtype)}\'')


def channels_of(m, n):
    """The shape of n numbers, one for each channel of m."""
    return tuple([n if d == 1 else 1 for d in range(m.ndim)])


@op("prelu(Tensor self, Tensor weight) -> Tensor", grad="PreluKernelBackward0", composed=True,
    grad_back="PreluKernelBackward", check=check_prelu, functional=True,
    strides=lambda inst, self, weight: kept_strides(self), twice="zeros", out=False, saves=("self", "weight"), twice_saves=every_operand,
    seen=lambda inst: {} if inst.in_metas[0].ndim == inst.in_metas[1].ndim else {1: channels_of(inst.in_metas[0], inst.in_metas[1].numel)})
def prelu(self, weight):
    """x above 0, weight * x below; the weight is one number, or one for each channel."""
    slope = _slopes(weight, self)
    return jnp.where(self > 0, self, slope * self)


def _slopes(weight, x):
    shape = [1] * x.ndim
    if weight.size != 1:
        shape[1 if x.ndim > 1 else 0] = weight.size
    return jnp.broadcast_to(weight.reshape(shape), x.shape)


def _prelu_back(ct, self, weight):
    slope, pull = jax.vjp(lambda w: _slopes(w, self), weight)
    return [_sloped(ct, self, slope), pull(_below(ct, self))[0]]


@jax.custom_jvp
def _sloped(g, x, slope):
    return jnp.where(x > 0, g, slope * g)


@_sloped.defjvp
def _sloped_jvp(primals, tangents):
    # torch's kernel of the second derivative takes 0 for a number above 0, that of the first for one below
    (g, x, slope), (tg, _, ts) = primals, tangents
    return _sloped(*primals), jnp.where(x < 0, slope * tg + g * ts, tg)


@jax.custom_jvp
def _below(g, x):
    """The gradient of a slope: where infinite slopes do not matter they make no nan."""
    return jnp.where(x > 0, 0, x * g)


@_below.defjvp
def _below_jvp(primals, tangents):
    (g, x), (tg, tx) = primals, tangents
    return _below(*primals), jnp.where(x < 0, x * tg + g * tx, 0)


prelu.rule = pullback_rule(_prelu_back)


def check_glu(self, dim):
    if not self.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    d = wrap_dim(dim, self.ndim)
    if self.shape[d] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {self.shape[d]}")
    if P.kind_of(self.dtype) != 2:
        raise NotImplementedError(f'"glu_cpu" not implemented for \'{P.c_name(self.dtype)}\'')


@op("glu(Tensor self, int dim=-1) -> Tensor", plain_gradients=True, grad="GluBackward0", grad_back="GluBackward", check=check_glu,
    strides=part_strides,
    namespace="nn.functional", method=False, out=False)
def glu(self, dim):
    """The first half times the sigmoid of the second."""
    a, b = jnp.split(self.astype(P.compute_dtype(self.dtype)), 2, axis=dim)
    return _gated(a, b, half_of(self.dtype)).astype(self.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _gated(a, b, half):
    return a * jax.lax.logistic(b)


@_gated.defjvp
def _gated_jvp(half, primals, tangents):
    a, b = primals
    s = short(jax.lax.logistic(b), half)
    return _gated(a, b, half), tangents[0] * s + tangents[1] * ((1 - s) * s * a)          # torch's order of multiplication
