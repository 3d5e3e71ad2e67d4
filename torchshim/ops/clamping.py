"""Bounds on elements: clamp, maximum, minimum and their forms that skip nan."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from . import promotion as P
from .arithmetic import NUMBERS, named
from .layout import chosen
from .registry import SB, SC, SF, SI, T, common_of, op


# Of two equal operands torch keeps the first, which shows in the sign of zeros, and the primitives the second; nan wins from either side.
def at_least(x, low):
    return jnp.maximum(low, x)


def at_most(x, high):
    return jnp.minimum(high, x)


def check_clamp(self, min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if None not in (min, max) and hasattr(min, "dtype") != hasattr(max, "dtype") and getattr(min, "ndim", 0) + getattr(max, "ndim", 0):
        raise TypeError("clamp() received an invalid combination of arguments: min and max must be two tensors or two numbers")
    if P.kind_of(self.dtype) == 3 or SC in (min, max) and P.kind_of(self.dtype) < 2:
        raise NotImplementedError("clamp is not supported for complex types")
    if self.dtype == np.bool_ and all([getattr(bound, "dtype", None) == np.bool_ for bound in (min, max)]):
        raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")
    _refuse_truths("clamp_min_scalar_cpu" if max is None else "clamp_max_scalar_cpu" if min is None else "clamp_scalar_cpu", self, min, max)
    if hasattr(min, "dtype") and hasattr(max, "dtype") and P.kind_of(common_of((self, min, max))) == 3:
        raise NotImplementedError(f'"clamp_cpu" not implemented for \'{P.c_name(common_of((self, min, max)))}\'')
    for bound, kernel in ((min, "maximum_cpu"), (max, "minimum_cpu")):
        if bound is SC:
            raise RuntimeError("value cannot be converted to type double without overflow")
        if hasattr(bound, "dtype") and P.kind_of(bound.dtype) == 3:
            raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(common_of((self, bound)))}\'')


def _refuse_truths(kernel, self, *bounds):
    """No kernel bounds truths by truths alone."""
    if self.dtype == np.bool_ and all([bound is None or bound is SB for bound in bounds]):
        raise NotImplementedError(f'"{kernel}" not implemented for \'Bool\'')


def refuse_beyond(self, *bounds):
    """torch's error for numbers that the result's dtype cannot hold."""
    for n in bounds:
        if n.__class__ is float or n.__class__ is int:
            d = self.dtype
            if P.kind_of(d) == 3:              # which are refused for what they are
                return
            if d == P.float32 and -1e38 < n < 1e38:
                continue
            if P.kind_of(d) < 2:
                d = common_of((self,), (SF if n.__class__ is float else SI,))
            P.refuse_beyond(n, d)


def _inside(out, x, lo, hi):
    keep = x >= lo if hi is None else x <= hi if lo is None else (x >= lo) & (x <= hi)
    return keep


def _at_lo(out, x, lo, hi):
    return (x < lo if hi is None else (x < lo) & (lo < hi))


def _at_hi(out, x, lo, hi):
    return (x > hi if lo is None else (x > hi) | (hi < lo))


@op("clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", lie=chosen, promote="arith", inplace=True, aliases=("clip",),
    grad=lambda inst: "ClampBackward0" if T in inst.layout[1:] else "ClampBackward1", check=check_clamp,
    rule=(_inside, _at_lo, _at_hi), kernel_numbers=True, twice="compared", precheck=refuse_beyond)
def clamp(self, min, max):
    """Elements below min become min, above max max."""
    x = self if min is None else at_least(self, min)
    return x if max is None else at_most(x, max)


def check_bound(kernel):
    def check(self, bound):
        tensors = [x for x in (self, bound) if x not in NUMBERS]
        if bound is SC or P.kind_of(common_of(tensors)) == 3:
            raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(common_of(tensors))}\'' if len(tensors) == 2 else
                                      "clamp is not supported for complex types")
        _refuse_truths(kernel.replace("maximum", "clamp_min_scalar").replace("minimum", "clamp_max_scalar"), self, bound)
    return check


@op("clamp_min(Tensor self, Tensor min) -> Tensor", lie=chosen, promote="arith", grad=named(("ClampMin", 1, 0)), inplace=True,
    check=check_bound("maximum_cpu"),
    rule=(lambda out, x, lo: x >= lo, lambda out, x, lo: x < lo), kernel_numbers=True, twice="compared", precheck=refuse_beyond)
def clamp_min(self, min):
    """Elements below min become min."""
    return at_least(self, min)


@op("clamp_max(Tensor self, Tensor max) -> Tensor", lie=chosen, promote="arith", grad=named(("ClampMax", 1, 0)), inplace=True,
    check=check_bound("minimum_cpu"),
    rule=(lambda out, x, hi: x <= hi, lambda out, x, hi: x > hi), kernel_numbers=True, twice="compared", precheck=refuse_beyond)
def clamp_max(self, max):
    """Elements above max become max."""
    return at_most(self, max)


def check_order(name):
    def check(self, other):
        if P.kind_of(self.dtype) == 3 or P.kind_of(other.dtype) == 3:
            raise RuntimeError(f"{name} not implemented for complex tensors.")
    return check


def _wins(first, ties, less):
    """The derivative of maximum (less) or minimum for one operand: a half each where they are equal."""
    def partial(out, self, other):
        loses = (self < other) if less == first else (self > other)
        return ~loses, jnp.where(self == other, ties, 1).astype(out.dtype)
    return partial


@op("maximum(Tensor self, Tensor other) -> Tensor", lie=chosen, promote="arith", grad="MaximumBackward0", numbers=(),
    check=check_order("maximum"),
    rule=(_wins(True, 0.5, True), _wins(False, 0.5, True)), twice="compared")
def maximum(self, other):
    """The larger of each pair; nan if either is."""
    return at_least(self, other)


@op("minimum(Tensor self, Tensor other) -> Tensor", lie=chosen, promote="arith", grad="MinimumBackward0", numbers=(),
    check=check_order("minimum"),
    rule=(_wins(True, 0.5, False), _wins(False, 0.5, False)), twice="compared")
def minimum(self, other):
    """The smaller of each pair; nan if either is."""
    return at_most(self, other)


def _first_of(compare):
    """Derivatives of fmax and fmin: all to the first operand where it wins or ties, or the second is nan."""
    first = lambda self, other: compare(self, other) | (other != other)
    return (lambda out, self, other: first(self, other), lambda out, self, other: (~first(self, other)))


@op("fmax(Tensor self, Tensor other) -> Tensor", plain_gradients=True, promote="arith", grad="FmaxBackward0", numbers=(),
    check=check_order("fmax"),
    rule=_first_of(lambda a, b: a >= b), twice="compared")
def fmax(self, other):
    """The larger of each pair; the other one where one is nan."""
    return jnp.where((self < other) | (self != self), other, self)


@op("fmin(Tensor self, Tensor other) -> Tensor", plain_gradients=True, promote="arith", grad="FminBackward0", numbers=(),
    check=check_order("fmin"),
    rule=_first_of(lambda a, b: a <= b), twice="compared")
def fmin(self, other):
    """The smaller of each pair; the other one where one is nan."""
    return jnp.where((self > other) | (self != self), other, self)
