"""Comparisons, logic, bits and selection."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from . import promotion as P
from .arithmetic import named
from .common import is_complex, is_float, length
from .layout import chosen
from .registry import op


def compare(name, f, doc, aliases=(), refuses=None):
    def body(self, other):
        return f(self, other)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor self, Tensor other) -> Tensor", promote="compare", inplace="method", aliases=aliases, refuses=refuses,
              inplace_grad=named((name.capitalize(), 1, 0)))(body)


eq = compare("eq", lambda a, b: a == b, "self == other for each element.")
ne = compare("ne", lambda a, b: a != b, "self != other for each element.", ("not_equal",))
lt = compare("lt", lambda a, b: a < b, "self < other for each element.", ("less",), ("lt_cpu", "c"))
le = compare("le", lambda a, b: a <= b, "self <= other for each element.", ("less_equal",), ("le_cpu", "c"))
gt = compare("gt", lambda a, b: a > b, "self > other for each element.", ("greater",), ("gt_cpu", "c"))
ge = compare("ge", lambda a, b: a >= b, "self >= other for each element.", ("greater_equal",), ("ge_cpu", "c"))


def truth(x):
    return x if x.dtype == jnp.bool_ else x != 0


def logical(name, f, doc):
    def body(self, other):
        return f(truth(self), truth(other))
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor self, Tensor other) -> Tensor", elementwise=True, inplace="method", numbers=())(body)


logical_and = logical("logical_and", lambda a, b: a & b, "Whether both are true (not 0).")
logical_or = logical("logical_or", lambda a, b: a | b, "Whether one is true (not 0).")
logical_xor = logical("logical_xor", lambda a, b: a ^ b, "Whether exactly one is true (not 0).")


@op("logical_not(Tensor self) -> Tensor", elementwise=True, inplace="method")
def logical_not(self):
    """Whether each element is 0."""
    return ~truth(self)


def bits(name, f, doc, kernel, kinds):
    def body(self, other):
        return f(self, other)
    body.__name__, body.__doc__ = name, doc
    return op(f"{name}(Tensor self, Tensor other) -> Tensor", promote="arith", inplace="method", scalar_left=True,
              inplace_grad="NotImplemented", refuses=(kernel, kinds))(body)


def _left(a, n):
    """Bits shifted out are lost; a shift by too much, or by a negative number, leaves 0."""
    return jnp.where((n < 0) | (n >= a.dtype.itemsize * 8), 0, jax.lax.shift_left(a, n)).astype(a.dtype)


def _right(a, n):
    """The sign is kept; a shift by too much, or by a negative number, leaves only it."""
    if jnp.issubdtype(a.dtype, jnp.unsignedinteger):
        return jax.lax.shift_right_logical(a, n)
    last = a.dtype.itemsize * 8 - 1
    n = jnp.where((n < 0) | (n > last), last, n).astype(a.dtype)
    return jax.lax.shift_right_arithmetic(a, n)


bitwise_and = bits("bitwise_and", lambda a, b: a & b, "The bits set in both.", "bitwise_and_cpu", "fc")
bitwise_or = bits("bitwise_or", lambda a, b: a | b, "The bits set in one or both.", "bitwise_or_cpu", "fc")
bitwise_xor = bits("bitwise_xor", lambda a, b: a ^ b, "The bits set in exactly one.", "bitwise_xor_cpu", "fc")
bitwise_left_shift = bits("bitwise_left_shift", _left, "self * 2 ** other.", "lshift_cpu", "bfc")
bitwise_right_shift = bits("bitwise_right_shift", _right, "self / 2 ** other, rounded down.", "rshift_cpu", "bfc")


@op("bitwise_not(Tensor self) -> Tensor", elementwise=True, inplace="method", inplace_grad="NotImplemented",
    refuses=("bitwise_not_cpu", "fc"))
def bitwise_not(self):
    """All bits flipped."""
    return ~self


@op("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", lie=chosen, promote="arith", grad="WhereBackward0",
    numbers=("self", "other"), nondiff=("condition",))
def where(condition, self, other):
    """self where the condition is true, other elsewhere."""
    return jnp.where(truth(condition), self, other)


@op("isclose.op(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", elementwise=True,
    composed=True)
def isclose(self, other, rtol, atol, equal_nan):
    """|self - other| <= atol + rtol * |other|."""
    close = self == other
    if not (is_float(self) or is_complex(self)):
        self, other = self.astype(P.default_float), other.astype(P.default_float)
    elif equal_nan:
        close |= (self != self) & (other != other)
    real = self.real.dtype if is_complex(self) else self.dtype
    size = length if is_complex(self) else jnp.abs
    allowed = jnp.asarray(atol).astype(real) + size(jnp.asarray(rtol).astype(real) * other)
    actual = size(self - other)
    loose = (jnp.asarray(rtol) != 0) | (jnp.asarray(atol) != 0)          # if not, large integers compare exactly
    return close | (loose & jnp.isfinite(actual) & (actual <= allowed))
