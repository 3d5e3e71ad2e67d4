"""Python's operators on tensors: `a + b`, `2 / a`, `a += b`, `a < b`, `~a`.

Each is a closure that goes straight to the recording of its operator when both operands are tensors or one is a Python
number. Operands that torch does not know give NotImplemented, so that Python asks the other side.
"""
from __future__ import annotations

import numpy as np

from ...engine.site import leaving
from ...ops import arithmetic, logic, products, rounding
from ...ops import promotion as P
from ...ops.registry import PACKED
from . import elementwise
from .bind import number, pack, precheck
from .overloads import foreign
from ..core.dispatch import apply, apply1, apply2, apply_number
from ..core.handle import TensorBase, read
from ..core.tensor import Tensor
from ..core.inplace import inplace2, inplace_number
from ..core.write import apply_inplace

POWERS = {int: elementwise.STATIC_POWERS, float: elementwise.STATIC_FLOATS}


def _general(op, again, self, other, position=1):
    """`op` with whatever else counts as a number: NumPy scalars, complex numbers, subclasses; `again` is
    the method itself, for operands that want to be asked."""
    x = float(other) if isinstance(other, np.bool_) else number(other)       # which is no bool to torch
    if x is None:
        if isinstance(other, TensorBase):
            return apply2(op, self, other, op.layout)
        return again(self, other) if foreign((other,)) else NotImplemented
    nums = []
    token = pack(x, nums)
    layout = op.layout[:position] + (token,) + op.layout[position + 1:]
    return apply(op, (self,), layout, nums, PACKED[token])


def binary(op, name):
    """self OP other."""
    layout, numbers = op.layout, op.number_layouts(1).get

    def method(self, other):
        try:
            if isinstance(other, TensorBase):
                return apply2(op, self, other, layout)
            p = numbers(other.__class__)
            if p is not None:
                return apply_number(op, self, other, p[0], p[1])
            return _general(op, method, self, other)
        except Exception as error:
            raise leaving(error)
    return _named(method, name)


def reflected(op, name, position=0):
    """other OP self, for an `other` that is no tensor: the number goes to `position`."""
    numbers = op.number_layouts(position).get

    def method(self, other):
        try:
            p = numbers(other.__class__)
            if p is not None:
                return apply_number(op, self, other, *p)
            if isinstance(other, TensorBase):
                return apply2(op, self, other, op.layout) if position else apply2(op, other, self, op.layout)
            return _general(op, method, self, other, position)
        except Exception as error:
            raise leaving(error if isinstance(self, TensorBase) else
                          TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{type(self).__name__}' "
                                    "object"))
    return _named(method, name)


def augmented(op, name):
    """self OP= other."""
    layout, numbers, inplace = op.layout, op.number_layouts(1).get, op.inplace_op

    def method(self, other):
        try:
            p = numbers(other.__class__)
            if p is not None:
                return inplace_number(inplace, self, other, *p)
            if isinstance(other, TensorBase):
                return inplace2(inplace, self, other, layout)
            x = number(other)
            if x is None:
                return method(self, other) if foreign((other,)) else NotImplemented
            nums = []
            token = pack(x, nums)
            return apply_inplace(inplace, (self,), layout[:1] + (token,) + layout[2:], nums, PACKED[token])
        except Exception as error:
            raise leaving(error)
    return _named(method, name)


def _named(f, name):
    f.__name__ = name
    f.__qualname__ = "Tensor." + name
    return f


def dividing(method, position=1):
    """An integer divided by 0 raises, as torch's kernels do; the argument of the method is the one at `position`."""
    def checked(self, other):
        if P.kind_of(read(self).meta.dtype) < 2 and (position or not isinstance(other, np.ndarray)):
            precheck(arithmetic.floor_divide, (self, other) if position else (other, self))
        return method(self, other)
    return _named(checked, method.__name__)


# -- the exceptional ones -------------------------------------------------------------------------------------------------
def __rtruediv__(self, other):
    """other / self, as torch computes it: reciprocal, then product."""
    if number(other) is None and not isinstance(other, (TensorBase, np.ndarray)):
        return NotImplemented
    return self.reciprocal() * other


def __pow__(self, other):
    powers = POWERS.get(other.__class__)
    if powers is not None:
        lay = powers.get(other)
        if lay is not None and P.kind_of(read(self).meta.dtype) >= 2:
            return apply1(elementwise.POW, self, lay)
    elif isinstance(other, TensorBase):
        return apply2(elementwise.POW, self, other, elementwise.POW.layout)
    r = elementwise.power(self, other)
    return r if r is not None else __pow__(self, other) if foreign((other,)) else NotImplemented


def __ipow__(self, other):
    r = elementwise.power_(self, other)
    return NotImplemented if r is None else r


def __invert__(self):
    if P.kind_of(read(self).meta.dtype) > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return apply1(logic.bitwise_not, self, logic.bitwise_not.layout)


def __neg__(self):
    return apply1(rounding.neg, self, rounding.neg.layout)


def __abs__(self):
    return apply1(rounding.abs, self, rounding.abs.layout)


def __pos__(self):
    return self.positive()


def __matmul__(self, other):
    if (isinstance(other, TensorBase) and (other._ts_view or other._ts_st.value).meta.ndim < 3
            and (self._ts_view or self._ts_st.value).meta.ndim > 1):
        try:
            return apply2(products.matmul, self, other, products.matmul.layout)
        except Exception:                      # the function has torch's words for it
            pass
    return self.matmul(other) if isinstance(other, TensorBase) or foreign((other,)) else NotImplemented


def __rmatmul__(self, other):
    return other.matmul(self) if isinstance(other, TensorBase) else NotImplemented


def __array_wrap__(self, array, context=None, return_scalar=False):
    """What a NumPy function makes of a tensor is a tensor."""
    from .sharing import from_numpy
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)


ARITHMETIC = {"add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.true_divide,
              "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "and": logic.bitwise_and, "or": logic.bitwise_or,
              "xor": logic.bitwise_xor, "lshift": logic.bitwise_left_shift, "rshift": logic.bitwise_right_shift}
REFLECTED = {"add": (arithmetic.add, 1), "mul": (arithmetic.mul, 1), "sub": (arithmetic.rsub, 1), "floordiv": (arithmetic.floor_divide, 0),
             "mod": (arithmetic.remainder, 0), "and": (logic.bitwise_and, 1), "or": (logic.bitwise_or, 1), "xor": (logic.bitwise_xor, 1),
             "lshift": (logic.bitwise_left_shift, 0), "rshift": (logic.bitwise_right_shift, 0)}
COMPARISONS = {"eq": logic.eq, "ne": logic.ne, "lt": logic.lt, "le": logic.le, "gt": logic.gt, "ge": logic.ge}


def comparing_arrays(method):
    """== and != compare with a NumPy array element by element."""
    def compared(self, other):
        if isinstance(other, np.ndarray):
            from .sharing import from_numpy
            other = from_numpy(other)
        return method(self, other)
    return _named(compared, method.__name__)


def _bind_operators(cls):
    """Set Python's operators on the Tensor class."""
    for name, op in ARITHMETIC.items():
        wrap = dividing if name in ("floordiv", "mod") else lambda f: f
        setattr(cls, f"__{name}__", wrap(binary(op, f"__{name}__")))
        setattr(cls, f"__i{name}__", wrap(augmented(op, f"__i{name}__")))
    for name, (op, position) in REFLECTED.items():
        f = reflected(op, f"__r{name}__", position)
        setattr(cls, f"__r{name}__", dividing(f, 0) if name in ("floordiv", "mod") else f)
    for name, op in COMPARISONS.items():
        f = binary(op, f"__{name}__")
        setattr(cls, f"__{name}__", comparing_arrays(f) if name in ("eq", "ne") else f)
    for f in (__rtruediv__, __pow__, __ipow__, __invert__, __neg__, __abs__, __pos__, __matmul__, __rmatmul__, __array_wrap__):
        setattr(cls, f.__name__, f)
    cls.__rpow__ = _named(reflected(elementwise.POW, "__rpow__", 0), "__rpow__")
    cls.__div__, cls.__rdiv__, cls.__idiv__ = cls.__truediv__, cls.__rtruediv__, cls.__itruediv__
    for name, called in {"rtruediv": "__rdiv__", "itruediv": "__idiv__", "pow": "pow", "ipow": "pow_", "neg": "neg", "abs": "abs",
                         "pos": "positive"}.items():
        getattr(cls, f"__{name}__").__name__ = called      # as torch's own, which share a function with the method


_bind_operators(Tensor)
