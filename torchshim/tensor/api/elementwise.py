"""Elementwise functions that choose between operators, look at their numbers, or are written in terms of others."""
from __future__ import annotations

import math

import numpy as np

from ...engine import context, warn
from ...ops import activation, arithmetic, bessel, clamping as bounds, logic, rounding, special, unary     # noqa: F401  (they declare)
from ...ops import promotion as P
from ...ops.half_kernels import refused
from ...ops.registry import PACKED, SF, T
from ..core import dispatch
from ..core.dtype import complex32
from .bind import FUNCTIONS, NAMESPACES, call, function, into, number, pack, type_name
from .out import check_dtype, refuse_history, rule_of
from .signatures import UNSET
from ..core.dispatch import apply, apply1, apply2, apply3
from ..core.handle import TensorBase, meta, read
from ..core.write import apply_inplace, needs_grad

POW = arithmetic.pow
STATIC_POWERS = {p: (T, p) for p in (0, 1, 2, 3, 4, -1, -2)}
# on floating elements 2.0 means 2; the two would be one key (Python's 2 == 2.0), so one spelling serves both
STATIC_FLOATS = {0.5: (T, 0.5), -0.5: (T, -0.5)} | {float(p): STATIC_POWERS[p] for p in (0, 1, 2, 3, -1, -2)}


# -- pow -----------------------------------------------------------------------------------------------------------------
def _pow_layout(self, exponent):
    """(layout, numbers, kinds) for a number as the exponent: the common ones are part of the program."""
    dtype = read(self).meta.dtype
    whole, lay = P.kind_of(dtype) < 2, None
    if exponent.__class__ is complex and not exponent.imag and P.kind_of(dtype) == 3:
        exponent = exponent.real
    if exponent.__class__ is int:
        if exponent < 0 and whole:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        lay = STATIC_POWERS.get(exponent)
    elif exponent.__class__ is float and not whole:
        lay = STATIC_FLOATS.get(exponent)
    elif exponent.__class__ is bool and not whole:
        lay = STATIC_POWERS[int(exponent)]
    if lay is not None:
        return lay, (), ""
    if whole and exponent.__class__ is int or dtype in (P.float16, P.bfloat16) and exponent.__class__ in (int, float):
        P.refuse_beyond(exponent, P.int64 if dtype == np.bool_ else dtype)
    nums = []
    token = pack(exponent, nums)
    return (T, token), nums, PACKED[token]


def power(self, exponent):
    """self ** exponent, where one of them may be a number; None for anything else."""
    if isinstance(self, TensorBase):
        if isinstance(exponent, TensorBase):
            return apply2(POW, self, exponent, POW.layout)
        x = number(exponent)
        if x is None:
            return None
        lay, nums, kinds = _pow_layout(self, x)
        return apply(POW, (self,), lay, nums, kinds) if nums else apply1(POW, self, lay)
    x = number(self)
    if x is None or not isinstance(exponent, TensorBase):
        return None
    nums = []
    token = pack(x, nums)
    try:
        return apply(POW, (exponent,), (token, T), nums, PACKED[token])
    except NotImplementedError:
        if x.__class__ is bool or x != 1 or needs_grad(exponent):
            raise
        return FUNCTIONS["ones_like"](exponent, dtype=complex32)       # torch has no kernel of halves and fills without one


def power_(self, exponent):
    """self **= exponent; None if the exponent is neither a tensor nor a number."""
    if isinstance(exponent, TensorBase):
        return apply_inplace(POW.inplace_op, (self, exponent), POW.layout)
    x = number(exponent)
    if x is None:
        return None
    lay, nums, kinds = _pow_layout(self, x)
    return apply_inplace(POW.inplace_op, (self,), lay, nums, kinds)


def _wrong(name, position, kind, x):
    arg = {1: "input", 2: "exponent"}[position]
    return TypeError(f"{name}(): argument '{arg}' (position {position}) must be {kind}, not {type_name(x)}")


@function("pow", method=False)
def pow(input, exponent, *, out=None):
    """input ** exponent."""
    r = power(input, exponent)
    if r is None:
        raise _wrong("pow", 1 if not isinstance(input, TensorBase) and number(input) is None else 2, "Tensor", exponent)
    return r if out is None else into(out, r, "pow", (input, exponent))


def _pow_method(self, exponent):
    """self ** exponent."""
    r = power(self, exponent)
    if r is None:
        raise TypeError(f"pow(): argument 'exponent' (position 1) must be Tensor, not {type_name(exponent)}")
    return r


def _pow_method_(self, exponent):
    """self **= exponent."""
    r = power_(self, exponent)
    if r is None:
        raise TypeError(f"pow_(): argument 'exponent' (position 1) must be Tensor, not {type_name(exponent)}")
    return r


function("pow", torch=False)(_pow_method)
function("pow_", torch=False)(_pow_method_)


@function("square", out=True)
def square(input):
    """input ** 2."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"square(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    return apply1(POW, input, STATIC_POWERS[2])


@function("square_")
def square_(input):
    """input **= 2."""
    return apply_inplace(POW.inplace_op, (input,), STATIC_POWERS[2])


def _double(x):
    """In the dtype that float_power computes in."""
    if isinstance(x, TensorBase):
        return x.to(_wide(x))
    n = number(x)
    return None if n is None else n if isinstance(n, complex) else float(n)


def _wide(*operands):
    from ..core.dtype import complex128, float64
    is_complex = any(isinstance(x, complex) or isinstance(x, TensorBase) and x.is_complex() for x in operands)
    return complex128 if is_complex else float64


@function("float_power", method=False)
def float_power(input, exponent, *, out=None):
    """input ** exponent in double precision."""
    wide = _wide(input, exponent)
    if out is not None and out.dtype is not wide:
        raise RuntimeError(f"the output given to float_power has dtype {P.c_name(out.dtype.np)} but the operation's result requires dtype "
                           f"{P.c_name(wide.np)}")
    a = input.to(wide) if isinstance(input, TensorBase) else _double(input)
    b = exponent.to(wide) if isinstance(exponent, TensorBase) else _double(exponent)
    return pow(a, b, out=out)


def _float_power(self, exponent):
    """self ** exponent in double precision."""
    return float_power(self, exponent)


def _float_power_(self, exponent):
    """self **= exponent; self must be double."""
    wide = _wide(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(f"the base given to float_power_ has dtype {P.c_name(self.dtype.np)} but the operation's result requires dtype "
                           f"{P.c_name(wide.np)}")
    return power_(self, exponent.to(wide) if isinstance(exponent, TensorBase) else _double(exponent))


function("float_power", torch=False)(_float_power)
function("float_power_", torch=False)(_float_power_)


# -- aliases of the input -------------------------------------------------------------------------------------------------
@function("positive")
def positive(input):
    """The input itself."""
    if input.dtype.np == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@function("conj_physical", out=True)
def conj_physical(input):
    """The complex conjugate, in memory of its own; a real tensor itself."""
    return call(unary.conj_physical, (input,), "conj_physical") if P.kind_of(read(input).meta.dtype) == 3 else input


@function("conj_physical_")
def conj_physical_(input):
    """The complex conjugate, in place."""
    real = P.kind_of(meta(input).dtype) != 3   # then there is nothing to write
    return apply_inplace(unary.conj_physical.inplace_op, (input,), (T,), overlap="fill" if real else None)


# -- polygamma, whose method has its arguments the other way round --------------------------------------------------------
@function("polygamma", method=False, namespace="special")
@function("polygamma", method=False)
def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma."""
    r = call(special.polygamma, (n, input), "polygamma")
    return r if out is None else into(out, r, "polygamma", (input,))


def _polygamma(self, n):
    """The n-th derivative of digamma."""
    return polygamma(n, self)


def _polygamma_(self, n):
    """The n-th derivative of digamma, in place."""
    return apply_inplace(special.polygamma.inplace_op, (self,), (n, T))


function("polygamma", torch=False)(_polygamma)
function("polygamma_", torch=False)(_polygamma_)


# -- selection ----------------------------------------------------------------------------------------------------------
WHERE = logic.where


@function("where", method=False)
def where(condition, input=UNSET, other=UNSET, *, self=UNSET, out=None):
    """input where the condition is true, other elsewhere; with the condition alone, where it is true."""
    if input is UNSET:
        input = self
    if not isinstance(condition, TensorBase):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type_name(condition)}")
    if input is UNSET and other is UNSET:
        return dispatch.Tensor.nonzero(condition, as_tuple=True)
    d = read(condition).meta.dtype
    if out is not None and isinstance(out, TensorBase) and isinstance(input, TensorBase) and isinstance(other, TensorBase):
        refuse_history("where", (out, input, other))       # both before the condition and the shapes are looked at
        check_dtype(rule_of("where"), FUNCTIONS["result_type"](input, other).np, out.dtype.np, "where")
    if d != np.bool_:
        if d != np.uint8:
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {P.c_name(d)}")
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. Use "
             "a boolean condition instead.")
        condition = condition != 0
    if input is None or other is None or input is UNSET or other is UNSET:
        raise TypeError("where() received an invalid combination of arguments")
    if isinstance(input, TensorBase) and isinstance(other, TensorBase):
        r = apply3(WHERE, condition, input, other, WHERE.layout)
    else:
        if isinstance(input, TensorBase) is not isinstance(other, TensorBase):
            m, n = (meta(input), other) if isinstance(input, TensorBase) else (meta(other), input)
            if P.compute_dtype(m.dtype) == m.dtype:        # the others become infinite
                bounds.refuse_beyond(m, n)
        r = call(WHERE, (condition, input, other))
    return r if out is None else into(out, r, "where", (condition, input, other))


def _where_method(self, condition, other):
    """self where the condition is true, other elsewhere."""
    return where(condition, self, other)


function("where", torch=False)(_where_method)


# -- nearness -----------------------------------------------------------------------------------------------------------
@function("isclose")
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|input - other| <= atol + rtol * |other| for each element."""
    for name, x, p in (("input", input, 1), ("other", other, 2)):
        if not isinstance(x, TensorBase):
            raise TypeError(f"isclose(): argument '{name}' (position {p}) must be Tensor, not {type_name(x)}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{P.c_name(input.dtype.np)} did not match {P.c_name(other.dtype.np)}")
    for name, x, p in (("rtol", rtol, 3), ("atol", atol, 4)):
        if isinstance(x, TensorBase) and (x.ndim or x.requires_grad):
            raise TypeError(f"isclose(): argument '{name}' (position {p}) must be float, not Tensor")
        if not x >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {x:g}")
    return call(logic.isclose, (input, other, float(rtol), float(atol), bool(equal_nan)))


@function("allclose")
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether isclose holds for all elements."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function("equal")
def equal(input, other):
    """Whether both have the same shape and elements."""
    for name, x, p in (("input", input, 1), ("other", other, 2)):
        if not isinstance(x, TensorBase):
            raise TypeError(f"equal(): argument '{name}' (position {p}) must be Tensor, not {type_name(x)}")
    if input.shape != other.shape:
        return False
    if meta(input).dtype is P.complex32:
        raise refused("equal_notnan_cpu" if input is other else "equal_cpu")
    return bool((input == other).all())


# -- activations --------------------------------------------------------------------------------------------------------
def functional(f):
    return function(f.__name__, method=False, torch=False, namespace="nn.functional")(f)


@functional
def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


@functional
def tanh(input):
    """The hyperbolic tangent."""
    return input.tanh()


@functional
def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


@functional
def softsign(input):
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def _rrelu(input, lower, upper, training, inplace, generator=None):
    if not isinstance(input, TensorBase):
        raise TypeError(f"rrelu{'_' if inplace else ''}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    for what, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {what} bound must be finite, got {bound:g}")
    if any([x.kind == "vmap" for x in context.modes.get("transform", ())]):
        raise RuntimeError(f"vmap: we do not yet support aten::rrelu{'_' if inplace else ''}. Please file an issue")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if training:
        noise = slopes(input, lower, upper, generator)
        return apply_inplace(NOISY.inplace_op, (input, noise), NOISY.layout) if inplace else apply2(NOISY, input, noise, NOISY.layout)
    slope = (lower + upper) / 2
    nums, layout = (slope,), (T, SF)
    if inplace and slope < 0:                  # which backward refuses
        return apply_inplace(RRELU.inplace_op, (input,), (T, slope))
    if inplace:
        return apply_inplace(RRELU.inplace_op, (input,), layout, nums, "f")
    return apply(RRELU, (input,), layout, nums, "f")


# (tensor, lower, upper, generator) -> 1, or a number drawn where it is not positive; set by torchshim.random.fills
slopes = None
RRELU, NOISY = activation.rrelu, activation.rrelu_noisy


@functional
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu with a random slope in training, the mean slope otherwise."""
    return _rrelu(input, lower, upper, training, inplace)


@function("rrelu", method=False)
def _torch_rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """leaky_relu with a random slope in training, the mean slope otherwise."""
    return _rrelu(input, lower, upper, training, False, generator)


@function("rrelu_", method=False)
def _torch_rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu in place."""
    return _rrelu(input, lower, upper, training, True, generator)


NAMESPACES["nn.functional"]["rrelu_"] = _torch_rrelu_
