"""Arithmetic on elements: sums, products, quotients, powers."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.interpret import interpolated, quotients
from ..engine.interpret.rules import Spec
from ..engine.interpret.shared import shared
from . import promotion as P, registers
from .common import hypotenuse, is_complex, is_float, plus_product
from .layout import as_cotangent, broadcast_shapes, each, elementwise_strides, iterated, plain
from .loops import while_loop
from .casts import cast, short
from .partials import Over, with_partials
from .registry import SB, SC, SF, SI, T, common_of, each_back, every_operand, op

NUMBERS = (SB, SI, SF, SC)
TWO_BOOLS = ("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
             "instead.")
NEGATED_BOOL = ("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                "`logical_not()` operator instead.")
ONE_BOOL = ("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead.")


def no_bools(*saved, text=ONE_BOOL):
    """back_refuses of a formula that subtracts what it saved: pairs of an operand that may be no bool tensor and the gradient (None: any)
    in whose formula that stands."""
    def refuses(inst, needs):
        at = [k for k, x in enumerate(inst.layout) if x is T]
        for operand, wanted in saved:
            if operand in at and (wanted is None or wanted in at and at.index(wanted) in needs) \
                    and inst.in_metas[at.index(operand)].dtype == np.bool_:
                return text
        return None
    return refuses


def named(pattern, position=1):
    """grad_fn names that say whether the operand at `position` is a tensor or a number: (tensor, number) numbers."""
    name, tensor, number = pattern

    def grad(inst):
        return f"{name}Backward{tensor if inst.layout[position] is T else number}"
    return grad


# -- an integer divided by zero raises (on the CPU): at once where the divisor is known, else at the next look ------------
HAS_ZERO = op("any_zero.late(Tensor self) -> Tensor")(lambda self: jnp.any(self == 0))


def _zero_division():
    return RuntimeError("ZeroDivisionError")


def refuse_zero(self, other, *rest):
    if getattr(self, "dtype", None) == P.float32 or 0 in (*getattr(self, "shape", ()), *getattr(other, "shape", ())):
        return None                            # nothing is divided
    kinds = [P.kind_of(x.dtype) if hasattr(x, "dtype") else {bool: 0, int: 1}.get(x.__class__, 2) for x in (self, other)]
    if max(kinds) != 1:
        return None
    if hasattr(other, "dtype"):
        shapes = reversed(getattr(self, "shape", ())), reversed(other.shape)
        if any([n != k and n != 1 != k for n, k in zip(*shapes)]):
            return None                        # refused for this; a check would stay, and fail what comes next
        return (1, HAS_ZERO, _zero_division),
    if not hasattr(self, "dtype"):
        return None                            # two numbers
    if other == 0 or kinds[0] == 1 and other % 2 ** (8 * self.dtype.itemsize) == 0:    # a number wraps in the tensor's dtype
        raise _zero_division()
    return None


def _rounds(mode):
    """Whether a quotient is rounded: not by None, nor where no mode was given, which are two overloads in torch."""
    return mode is not None and mode is not ...


def refuse_rounded_zero(self, other, rounding_mode):
    return refuse_zero(self, other) if _rounds(rounding_mode) else None


def refuse_bool(message):
    """A check that raises for bool tensors."""
    def check(self):
        if self.dtype == np.bool_:
            raise RuntimeError(message)
    return check


# -- sums, products, quotients -----------------------------------------------------------------------------------------
def unscaled(*names):
    """`passing` of what is multiplied by `alpha`: these operands, and only the first of several where there is a factor."""
    def passing(inst):
        return names if inst.layout[2] not in NUMBERS else names[:-1]
    return passing


def scaled(x, alpha, half=None):
    """alpha * x, where the default 1 comes as the static Python number; rounded to complex32 if that is `half`, whose kernels multiply
    by 1, too."""
    if half is not None:
        return cast(x * (alpha if alpha.__class__ is not int else x.dtype.type(alpha)), half)
    if alpha.__class__ is int:
        return by_one(x, 1) if is_complex(x) else x
    return x * alpha


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def by_one(x, sign):
    """A complex number times 1 or -1, as torch's kernels of sums multiply: of an infinite part the other one becomes nan."""
    return x * x.dtype.type(sign)


@by_one.defjvp
def _by_one_jvp(sign, primals, tangents):
    return by_one(primals[0], sign), tangents[0] if sign > 0 else -tangents[0]


def check_alpha(self, other, alpha):
    if alpha.__class__ is int:
        return
    kind = P.kind_of(common_of([x for x in (self, other) if x not in NUMBERS], [x for x in (self, other) if x in NUMBERS]))
    if alpha is SB and kind:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if alpha is SF and kind < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if alpha is SC and kind < 3:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def check_sub(self, other, alpha):
    bools = [x is SB or (x not in NUMBERS and x.dtype == np.bool_) for x in (self, other)]
    if all(bools):
        raise RuntimeError(TWO_BOOLS)
    if any(bools):
        raise RuntimeError(ONE_BOOL)
    check_alpha(self, other, alpha)


def in_steps(sign):
    """`variant` of sums with a factor: of half numbers, which torch rounds between its steps."""
    def variant(self, other, alpha, turned=False):
        if alpha.__class__ is int:
            return None
        given = (self, other)
        body = registers.summed([x for x in given if x not in NUMBERS], [x for x in given if x in NUMBERS], sign)
        return body if body is None or not turned else registers.turned(body)
    return variant


@op("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", passing=unscaled("self", "other"), promote="arith",
    grad="AddBackward0", inplace="method",
    scalar_left="alone", check=check_alpha, half_steps="complex", variant=in_steps(1))
def add(self, other, alpha, half=None):
    """self + alpha * other."""
    if self.dtype == jnp.bool_:
        return self | scaled(other, alpha)
    return _plus(self, other, alpha, half)


@op("sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", passing=("self",), promote="arith", grad="SubBackward0",
    inplace="method",
    scalar_left="alone", aliases=("subtract",), check=check_sub, half_steps="complex", variant=in_steps(-1))
def sub(self, other, alpha, half=None):
    """self - alpha * other."""
    return _less(self, other, alpha, half)


def _plus(x, y, alpha, half):
    if alpha.__class__ is not int and is_float(y):
        return plus_product(x, alpha, y)
    return x + scaled(y, alpha, half)


def _less(x, y, alpha, half):
    if half is None and is_complex(y):
        return x + (by_one(y, -1) if alpha.__class__ is int else y * -alpha)
    if alpha.__class__ is not int and is_float(y):
        return plus_product(x, -alpha, y)
    return x - scaled(y, alpha, half)


def check_rsub(self, other, alpha):
    check_sub(self, other, alpha)
    broadcast_shapes([x.shape for x in (other, self) if x not in NUMBERS])       # whose error names the first operand first


@op("rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", passing=unscaled("other"), promote="arith", grad=named(("Rsub", 0,
    1)), check=check_rsub,
    method=False, out=False, half_steps="complex", variant=lambda self, other, alpha: in_steps(-1)(other, self, alpha, True),
    strides=lambda inst, *operands: elementwise_strides(inst.in_metas[::-1], inst.out.shape) if len(inst.in_metas) == 2 else
    elementwise_strides(inst.in_metas, inst.out.shape, True))
def rsub(self, other, alpha, half=None):
    """other - alpha * self."""
    return _less(other, self, alpha, half)


@op("mul(Tensor self, Tensor other) -> Tensor", promote="arith", grad="MulBackward0", inplace="method", scalar_left="alone",
    aliases=("multiply",), saves_number=True, wide_number=True, factors=("self", "other"))
def mul(self, other):
    """self * other."""
    return self & other if self.dtype == jnp.bool_ else self * other


def check_mode(self, other, rounding_mode):
    if rounding_mode not in (None, ..., "trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")


def floor_quotient(a, b, half=None):
    """Floor division that is exact where the quotient is (Python's algorithm); x / 0 stays what IEEE says."""
    if not is_float(a):
        return jnp.floor_divide(a, b)
    rounded = (lambda x: x) if half is None or b.ndim == 0 else lambda x: x.astype(half).astype(x.dtype)
    mod = rounded(jax.lax.rem(a, b))
    q = rounded(rounded(a - mod) / b)
    q = jnp.where((mod != 0) & ((b < 0) != (mod < 0)), rounded(q - 1), q)
    floor = jnp.floor(q)
    floor = jnp.where(q - floor > 0.5, rounded(floor + 1), floor)
    return jnp.where(b == 0, a / b, jnp.where(q == 0, jnp.copysign(jnp.zeros_like(a), a / b), floor))


def quotient(self, other, rounding_mode, half=None):
    if not _rounds(rounding_mode):
        return self / other
    if not (is_float(self) or jnp.issubdtype(self.dtype, jnp.integer)):
        raise NotImplementedError(f'"div_{rounding_mode}_cpu" not implemented for \'{P.c_name(self.dtype)}\'')
    if rounding_mode == "floor":
        return floor_quotient(self, other, half)
    if not is_float(self):
        return jax.lax.div(self, other)
    q = self / other
    return jnp.trunc(q if half is None or other.ndim == 0 else q.astype(half).astype(q.dtype))


def _div_name(inst):
    return "DivBackward0" if inst.layout[2] is ... else "DivBackward2"


def _of_divisor(out, self, other, half):
    return -short(short(self / other, half) / other, half)


def _flat(mode, value):
    """A derivative that rounding makes zero."""
    return jnp.zeros(value.shape, bool) if _rounds(mode) else value


def _factors_of_quotient(made, asked):
    looked = {"grad", "other"} if "self" in made else set()
    return looked | {"self", "other"} if "other" in made and asked & {"self", "other"} else looked


@op("div(Tensor self, Tensor other, *, str? rounding_mode=...) -> Tensor", lie=each(iterated, as_cotangent), grad=_div_name,
    grad_back=each_back("Div"), check=check_mode,
    promote=lambda layout: "arith" if _rounds(layout[2]) else "float", inplace="method", scalar_left="alone", aliases=("divide",),
    elementwise=True, saves_number=True, wide_number=True, half_steps=True, precheck=refuse_rounded_zero,
    saves=("self for other", "other"), factors=_factors_of_quotient, twice=lambda inst: frozenset((0, 1)) if _rounds(inst.layout[2]) else None,
    rule=(lambda out, self, other, mode: _flat(mode, other) if _rounds(mode) else Over(other),
          lambda out, self, other, mode, half: _flat(mode, _of_divisor(out, self, other, half))))
def div(self, other, rounding_mode, half=None):
    """self / other, rounded towards zero ("trunc") or down ("floor")."""
    return quotient(self, other, rounding_mode, half)


@op("true_divide(Tensor self, Tensor other) -> Tensor", lie=each(iterated, as_cotangent), grad="DivBackward0",
    grad_back=each_back("Div"), promote="float", inplace="method", scalar_left="alone",
    saves_number=True, wide_number=True, factors=_factors_of_quotient, rule=(lambda out, self, other: Over(other), _of_divisor))
def true_divide(self, other):
    """self / other."""
    return self / other


@op("floor_divide(Tensor self, Tensor other) -> Tensor", grad="NotImplemented", promote="arith", inplace="method", scalar_left="alone",
    refuses=("div_floor_cpu", "bc"), precheck=refuse_zero, wide_number=True, half_steps=True)
def floor_divide(self, other, half=None):
    """self // other, rounded down."""
    return floor_quotient(self, other, half)


def _remainder_name(inst):
    if inst.layout[0] is not T:
        return "NotImplemented"
    return "RemainderBackward1" if inst.layout[1] is T else "RemainderBackward0"


def _remainder_on_host(inst):
    dtype = inst.out_metas[0].dtype
    if dtype.kind not in "iu" or inst.layout[0] is not T or inst.kinds not in ("", "i") or any([m.dtype != dtype for m in inst.in_metas]):
        return None

    shape = inst.out_metas[0].shape
    by_number = bool(shape) and [m.shape for m in inst.in_metas[1:]] in ([], [()]) and inst.in_metas[0].shape == shape
    modulo = shared(quotients.modulo, [Spec(shape, dtype), Spec((), dtype)], Spec(shape, dtype)) if by_number else None

    def remainder(x, y):
        x, y = np.asarray(x), np.asarray(y).astype(dtype, copy=False)
        if by_number and y:
            return [modulo(x, y)]
        found = np.remainder(x, y)
        return [np.asarray(found if np.logical_and.reduce(y, None) else np.where(y == 0, x, found))]
    return remainder


def _factors_of_rest(made, asked):
    return {"self", "other"} if "other" in made and asked & {"self", "other"} else ()


@op("remainder(Tensor self, Tensor other) -> Tensor", passing=("self",), grad=_remainder_name, promote="arith", inplace="method",
    scalar_left=True,
    refuses=("remainder_cpu", "bc"), precheck=refuse_zero, host=_remainder_on_host, factors=_factors_of_rest, twice_saves=every_operand,
    rule=(lambda out, self, other: jnp.ones_like(out), lambda out, self, other: -jax.lax.stop_gradient(floor_quotient(self, other))))
def remainder(self, other):
    """Python's self % other: the sign of `other`."""
    return jnp.remainder(self, other)


@op("fmod(Tensor self, Tensor other) -> Tensor", passing=("self",), grad=named(("Fmod", 1, 0)), promote="arith", inplace="method",
    factors=_factors_of_rest, twice_saves=every_operand,
    refuses=("fmod_cpu", "bc"), precheck=refuse_zero,
    rule=(lambda out, self, other: jnp.ones_like(out), lambda out, self, other: -jnp.trunc(self / other)))
def fmod(self, other):
    """C's fmod: the sign of `self`."""
    return jax.lax.rem(self, other)


@op("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", passing=("self",), promote="arith",
    grad="AddcmulBackward0",
    inplace="method", numbers=(), refuses=("addcmul_cpu_out", "b"), half_steps="complex",
    fresh=("tensor1", "tensor2"))
def addcmul(self, tensor1, tensor2, value, half=None):
    """self + value * tensor1 * tensor2."""
    if is_float(self):
        return plus_product(self, scaled(tensor1, value), tensor2)
    return self + scaled(scaled(tensor1, value, half), tensor2, half)


def check_addcdiv(self, tensor1, tensor2, value):
    if P.kind_of(tensor1.dtype) < 2 and P.kind_of(tensor2.dtype) < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
            "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
            "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.")


def _divided_by_integers(inst, needs):
    """torch divides the number by the divisor in the dtype of that."""
    d = inst.in_metas[-1].dtype
    if 1 in needs and P.kind_of(d) < 2:
        return f"result type {P.c_name(P.default_float)} can't be cast to the desired output type {P.c_name(d)}"
    return None


def _factors_of_addcdiv(made, asked):
    return {*(("grad",) if "tensor1" in made else ()), *(asked & {"tensor2"})}


@op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", passing=("self",), promote="arith",
    grad="AddcdivBackward0", saves=("tensor1 for tensor2", "tensor2"),
    rule=(lambda out, self, *rest: jnp.ones_like(out),
          lambda out, self, t, by, value, half: short((value if value.__class__ is int else short(value, half)) / by, half),
          lambda out, self, t, by, value, half: -short(short(scaled(t, value), half) / short(by * by, half), half)),
    factors=_factors_of_addcdiv,
    inplace="method", numbers=(), check=check_addcdiv, back_refuses=_divided_by_integers)
def addcdiv(self, tensor1, tensor2, value):
    """self + value * tensor1 / tensor2."""
    return self + scaled(tensor1, value) / tensor2


def check_lerp(self, end, weight):
    for name, x in (("end", end), ("weight", weight)):
        if x not in NUMBERS and x.dtype != self.dtype and (name == "end" or x.ndim):
            raise RuntimeError(f"expected dtype {P.cpp_name(self.dtype)} for `{name}` but got dtype {P.cpp_name(x.dtype)}")
    if weight is SC and P.kind_of(self.dtype) == 2:
        raise RuntimeError("value cannot be converted to type float without overflow")
    number = weight in NUMBERS
    if P.kind_of(self.dtype) < 2 and (number or P.kind_of(weight.dtype) < 2):      # a floating weight without dimensions promotes
        broadcast_shapes([x.shape for x in (self, end, weight) if x not in NUMBERS])
        kernel = "lerp_kernel_scalar" if number else "lerp_kernel_tensor"
        raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(self.dtype)}\'')


def _lerp_on_host(inst):
    layout, metas, m = inst.layout, inst.in_metas, inst.out_metas[0]
    if layout[:2] != (T, T) or any([x.dtype != m.dtype for x in metas]) or any([x.shape != m.shape for x in metas[:2]]):
        return None
    number = len(metas) == 2 or not metas[2].shape
    if (inst.kinds not in ("i", "f") if len(metas) == 2 else inst.kinds) or not number and metas[2].shape != m.shape:
        return None
    return interpolated.lerp(m.shape, m.dtype, number)


@op("lerp(Tensor self, Tensor end, Tensor weight) -> Tensor", promote="arith", grad=named(("Lerp", 1, 0), 2), inplace="method",
    host=_lerp_on_host,
    numbers=("weight",), kernel_numbers=True, wide_number=True, check=check_lerp, saves=("weight",),
    factors=lambda made, asked: {"grad", "weight"} if "end" in made else {"grad"},
    rule=(lambda out, self, end, weight: 1 - weight, lambda out, self, end, weight: weight,
              lambda out, self, end, weight, half: short(end - self, half)))
def lerp(self, end, weight):
    """self + weight * (end - self), computed from the nearer end."""
    near, span = jnp.abs(weight) < 0.5, end - self
    return plus_product(jnp.where(near, self, end), jnp.where(near, weight, weight - 1), span)


# -- powers ------------------------------------------------------------------------------------------------------------
def _pow_name(inst):
    a, b = inst.layout[:2]
    return "PowBackward2" if a is not T else "PowBackward1" if b is T else "PowBackward0"


def check_pow(self, exponent):
    if (exponent not in NUMBERS and getattr(exponent, "dtype", None) == np.bool_
            and (self is SB or getattr(self, "dtype", None) == np.bool_)):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")


def _power(x, e, half=None):
    """x ** e, with e an array or a static number: any int, or one of the floats 0.5, -0.5, 1.0, 2.0, 3.0, -1.0, -2.0. bfloat16 multiplies step
    by step."""
    if half == P.bfloat16 and e.__class__ in (int, float) and e in (3, -2):
        square = short(x * x, half)
        return square * x if e == 3 else 1 / square
    if e.__class__ is int:
        if e > 3 and not jnp.issubdtype(x.dtype, jnp.integer) or is_complex(x) and not -3 < e:      # torch multiplies no more often
            return jnp.power(x, jnp.asarray(e, x.dtype))
        return jax.lax.integer_pow(x, e) if e >= 0 or not jnp.issubdtype(x.dtype, jnp.integer) else _negative_power(x, e)
    if e.__class__ is float:
        return jnp.sqrt(x) if e == 0.5 else jax.lax.rsqrt(x) if e == -0.5 else jax.lax.integer_pow(x, int(e))
    if jnp.issubdtype(x.dtype, jnp.integer):
        return _negative_power(x, e)
    return jnp.power(x, e)


def _negative_power(x, e):
    """Integer powers; a negative exponent leaves 1, -1 or 0."""
    e = jnp.asarray(e, x.dtype)
    even = (e & 1) == 0
    small = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(even, 1, -1), 0)).astype(x.dtype)
    x, e = jnp.broadcast_arrays(x, e)
    square_and_multiply = lambda s: (jnp.where(s[2] & 1 == 1, s[0] * s[1], s[0]), s[1] * s[1], s[2] >> 1)
    power = while_loop(lambda s: (s[2] > 0).any(), square_and_multiply, (jnp.ones_like(x), x, jnp.maximum(e, 0)))[0]
    return jnp.where(e < 0, small, power)


def _pow_self(out, x, e, half):
    if e.__class__ in (int, float):
        return short(e * short(_static_power(e - 1, x, half), half), half) if e else jnp.zeros(out.shape, bool)
    return e != 0, short(e * short(_power_of(x, short(e - 1, half)), half), half)


@jax.custom_jvp
def _power_of(x, e):
    """x ** e as a factor of a derivative."""
    return jnp.power(x, e)


@_power_of.defjvp
def _power_of_jvp(primals, tangents):
    # as torch's formulas: by x the mask has the last word, by e it has not
    (x, e), (tx, te) = primals, tangents
    out = _power_of(x, e)
    return out, jnp.where(e == 0, jnp.zeros_like(tx), tx) * (e * _power_of(x, e - 1)) + te * _pow_exponent(out, x, e, None)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def _static_power(e, x, half):
    """x ** e as a factor of a derivative. Even x ** 0 depends on x, as in torch: its own derivative is 0 and not an error."""
    if e == 0:
        return jnp.where(x == x, 1, jnp.ones_like(x))
    return _power(x, e, half) if e == int(e) or e == -0.5 else jnp.power(x, np.asarray(e, x.dtype))


@_static_power.defjvp
def _static_power_jvp(e, half, primals, tangents):
    x, = primals
    return _static_power(e, x, half), tangents[0] * (e * _static_power(e - 1, x, half) if e else jnp.zeros_like(x))


def _pow_exponent(out, x, e, half):
    zero = (x == 0) & ((e.real if is_complex(e) else e) >= 0)
    wide = None if x.ndim < out.ndim else half             # of a Python number
    return jnp.where(zero, 0, short(out * short(jnp.log(x), wide), half))        # whose own derivative is nan there


@op("pow(Tensor self, Tensor exponent) -> Tensor", promote="arith", grad=_pow_name, inplace="method", scalar_left=True,
    rule=(_pow_self, _pow_exponent), half_steps=True, kernel_numbers=True, function=False, method=False, check=check_pow,
    back_refuses=no_bools((1, 0)), twice=lambda inst: frozenset((0,)) if inst.layout[1].__class__ in (int, float) and not inst.layout[1] else None,
    strides=lambda inst, *operands: elementwise_strides(inst.in_metas, inst.out.shape) if inst.layout[0] is T else None,
    saves=lambda inst, wrt: (0,) if inst.layout[1] is T else (~0,) if inst.layout[1] == 0 else None)
def pow(self, exponent, half=None):
    """self ** exponent. An exponent given as a static Python number is part of the program."""
    return self | ~exponent if self.dtype == jnp.bool_ else _power(self, exponent, half)


@op("reciprocal(Tensor self) -> Tensor", lie=as_cotangent, promote="float", grad="ReciprocalBackward0", inplace=True, fresh=("grad",),
    rule=(lambda out, self, half: -short(out * out, half),))
def reciprocal(self):
    """1 / self."""
    return 1 / self


@op("sqrt(Tensor self) -> Tensor", promote="float", grad="SqrtBackward0", inplace=True, fresh=("result",), rule=(lambda out, self: Over(2 * out),))
def sqrt(self):
    """The square root. Its slope at a complex 0 is what that division gives: infinite in the direction of the tangent."""
    return jnp.sqrt(self)


@op("rsqrt(Tensor self) -> Tensor", lie=as_cotangent, promote="float", grad="RsqrtBackward0", inplace=True, fresh=("grad",),
    rule=(lambda out, self, half: -0.5 * short(_power(out, 3, half), half),))
def rsqrt(self):
    """1 / sqrt(self)."""
    return 1 / jnp.sqrt(self)                   # lax.rsqrt is computed one by one without fused multiply-add, and torch divides


@op("ldexp(Tensor self, Tensor other) -> Tensor", promote="float", grad="LdexpBackward0", inplace=True, numbers=(),
    rule=(lambda out, self, other, half: short(two_to(other), half), lambda out, self, other, half: _of_scale(self, two_to(other), half)),
    saves=("result",),
    variant=lambda self, other: _ldexp_by(self, other))
def ldexp(self, other):
    """self * 2 ** other."""
    return self * two_to(other)


def _of_scale(self, power, half):
    return [short(short(power, half) * np.log(2).astype(power.dtype), half), self]


def _ldexp_by(self, other):
    """The body where torch takes the power in the exponent's own dtype."""
    d = other.dtype
    if d == P.bool_ and P.kind_of(self.dtype) == 2:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    rounded = P.compute_dtype(d) != d and (other.ndim or self.dtype not in (P.float16, P.float64))
    return _scaled_by_whole(d) if P.kind_of(d) < 2 else _scaled_by_half(d) if rounded else None


@functools.cache
def _scaled_by_half(d):
    """ldexp by half floats: the power is rounded to their dtype before it is a factor."""
    power = lambda x: two_to(x).astype(d).astype(x.dtype)
    return with_partials(lambda self, other: self * power(other),
                         (lambda out, self, other: power(other), lambda out, self, other: _of_scale(self, power(other), d)), ldexp.params)


@functools.cache
def _scaled_by_whole(d):
    """ldexp by integers, whose gradient's factor torch takes to be an integer of their dtype: 0 for a negative one, and it wraps around."""
    bits = 64 if d == P.bool_ else 8 * d.itemsize

    def factor(out, self, other):
        top = bits - (d.kind != "u")           # the place of the sign
        powers = jnp.where((other < 0) | (other >= bits), 0, two_to(other))
        return jnp.where(other == top, -powers, powers) if d.kind != "u" else powers
    return with_partials(ldexp.body, (factor, None), ldexp.params)


def two_to(x):
    return jnp.power(jnp.asarray(2, x.dtype), x)


def _factors_of_hypotenuse(made, asked):
    return {"result", *[name for own in made if asked & {own, "grad"} for name in (own, "grad")]}


@op("hypot(Tensor self, Tensor other) -> Tensor", promote="arith", grad="HypotBackward0", grad_back="Div", inplace="method", numbers=(),
    refuses=("hypot_cpu", "bic"), saves=("result",), factors=_factors_of_hypotenuse,
    rule=(lambda out, self, other, half: [Over(out), self], lambda out, self, other, half: [Over(out), other]))
def hypot(self, other):
    """sqrt(self ** 2 + other ** 2) without overflow."""
    return hypotenuse(self, other)


def _factors_of_xlogy(made, asked):
    if asked == {"self"} == made:              # which it compares
        return ()
    return {"other", *(("grad",) if "self" in made else ()), *(("self", "grad") if "other" in made and asked & {"self", "grad"} else ())}


@op("xlogy(Tensor self, Tensor other) -> Tensor", lie=each(plain, iterated), promote="float", inplace=True, scalar_left=True,
    refuses=("xlogy_cpu", "c"), factors=_factors_of_xlogy,
    twice="compares self", grad=lambda inst: f"XlogyBackward{1 if inst.layout[0] is not T else 0 if inst.layout[1] is T else 2}",
    rule=(lambda out, self, other: jnp.where((self == 0) & (other <= 0), 0, jnp.log(other)), lambda out, self, other: self / other),
    pullback=lambda g, self, other, half: (jnp.where((self == 0) & (other <= 0), 0, _xlogy(g, other, half)), short(g * self, half) / other),
    half_steps=True)
def xlogy(self, other, half=None):
    """self * log(other), 0 where self is 0."""
    return jnp.where(jnp.isnan(other), other, jnp.where(self == 0, 0, self * short(jnp.log(other), half)))


def _xlogy(self, other, half):
    return (xlogy.core if half is None else functools.partial(xlogy.body, half=half))(self, other)


def _at_infinity(z):
    """The parts of exp(infinity + i z.imag): infinite, or 0."""
    return jnp.cos(z.imag) * jnp.inf, jnp.where(z.imag == 0, 0, jnp.sin(z.imag) * jnp.inf)


def _share(exp, a, b, half):
    """A partial derivative 1 / (1 + exp(a - b))."""
    return Over(short(1 + short(exp(short(a - b, half)), half), half))


@op("logaddexp(Tensor self, Tensor other) -> Tensor", promote="arith", grad="LogaddexpBackward0", grad_back="Div", numbers=(),
    refuses=("logaddexp_cpu", "bi"), fresh=("self", "other"), back_refuses=no_bools((0, None), (1, None)),
    rule=(lambda out, self, other, half: _share(jnp.exp, other, self, half), lambda out, self, other, half: _share(jnp.exp, self, other, half)))
def logaddexp(self, other):
    """log(exp(self) + exp(other))."""
    if is_complex(self):
        first = self.real >= other.real
        high, low = jnp.where(first, self, other), jnp.where(first, other, self)
        out = jnp.where(jnp.isneginf(high.real), low, high + jnp.log1p(jnp.exp(low - high)))
        (x, y), (x2, y2) = _at_infinity(low), _at_infinity(high)
        out = jnp.where(jnp.isposinf(low.real), jax.lax.complex(jnp.full_like(x, jnp.inf), jnp.arctan2(y + y2, x + x2)), out)
        return jnp.where(jnp.isnan(self) | jnp.isnan(other), jax.lax.complex(jnp.nan, jnp.nan).astype(out.dtype), out)
    return jnp.logaddexp(self, other)


@op("logaddexp2(Tensor self, Tensor other) -> Tensor", promote="arith", grad="Logaddexp2Backward0", grad_back="Div", numbers=(),
    refuses=("logaddexp2_cpu", "bic"), fresh=("self", "other"), back_refuses=no_bools((0, None), (1, None)),
    rule=(lambda out, self, other, half: _share(jnp.exp2, other, self, half), lambda out, self, other, half: _share(jnp.exp2, self, other, half)))
def logaddexp2(self, other):
    """log2(2 ** self + 2 ** other)."""
    return jnp.logaddexp2(self, other)
