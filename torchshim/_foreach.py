"""torch._foreach_*: one operation on each tensor of a list. Recording makes one program of them anyway."""
from __future__ import annotations

from . import Tensor
from .tensor.core.write import unasked

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin
    sinh sqrt tan tanh trunc""".split()
_BINARY = "add sub mul div pow maximum minimum clamp_min clamp_max".split()


def _each(other, n):
    """What belongs to each tensor: an entry of a list, else the same for all."""
    if isinstance(other, (list, tuple)):
        if len(other) != n:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {n} and {len(other)}")
        return other
    return [other] * n


def _one_of(name, *given):
    """The one that was given of arguments that torch's overloads name differently."""
    given = [x for x in given if x is not None]
    if len(given) != 1:
        raise TypeError(f"_foreach_{name}() takes one other operand, got {len(given)}")
    return given[0]


def _unary(name, inplace):
    method = getattr(Tensor, name + "_" * inplace)

    def each(self):
        made = [method(t) for t in self]
        return None if inplace else tuple(made)
    return each


def _binary(name, inplace):
    method = getattr(Tensor, name + "_" * inplace, None) or getattr(Tensor, name)
    copies = inplace and not hasattr(Tensor, name + "_")

    def each(self, other=None, *, scalar=None, scalars=None, exponent=None, **kwargs):
        other = _one_of(name, other, scalar, scalars, exponent)
        if name == "pow" and not isinstance(self, (list, tuple)):
            return tuple([o.__rpow__(self) for o in other])
        others = _each(other, len(self))
        if copies:
            made = [t.copy_(method(t, o if isinstance(o, Tensor) else t.new_tensor(o))) for t, o in zip(self, others)]
        elif name in ("maximum", "minimum"):
            made = [method(t, o if isinstance(o, Tensor) else t.new_tensor(o)) for t, o in zip(self, others)]
        else:
            made = [method(t, o, **kwargs) for t, o in zip(self, others)]
        return None if inplace else tuple(made)
    return each


def _pointwise(name, inplace):
    method = getattr(Tensor, name + "_" * inplace)

    def each(self, tensor1, tensor2, value=None, *, scalars=None):
        values = _each(1 if value is None and scalars is None else scalars if value is None else value, len(self))
        made = [method(t, a, b, value=v) for t, a, b, v in zip(self, _each(tensor1, len(self)), _each(tensor2, len(self)), values)]
        return None if inplace else tuple(made)
    return each


def _lerp(inplace):
    method = getattr(Tensor, "lerp" + "_" * inplace)

    def each(self, tensors1, weights=None, *, weight=None):
        weights = _each(_one_of("lerp", weights, weight), len(self))
        made = [method(t, e, w) for t, e, w in zip(self, _each(tensors1, len(self)), weights)]
        return None if inplace else tuple(made)
    return each


@unasked()
def _foreach_zero_(self):
    """Zeros in each tensor."""
    for t in self:
        t.zero_()


@unasked()
def _foreach_copy_(self, src, non_blocking=False):
    """Copy each tensor of another list."""
    for t, s in zip(self, _each(src, len(self))):
        t.copy_(s)


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    return tuple([t.norm(ord, dtype=dtype) for t in self])


for _inplace in (False, True):
    _made = {**{n: _unary(n, _inplace) for n in _UNARY}, **{n: _binary(n, _inplace) for n in _BINARY},
             **{n: _pointwise(n, _inplace) for n in ("addcmul", "addcdiv")}, "lerp": _lerp(_inplace)}
    for _n, _f in _made.items():
        _f = unasked()(_f) if _inplace else _f
        _f.__name__ = _f.__qualname__ = f"_foreach_{_n}{'_' * _inplace}"
        _f.__doc__ = f"Tensor.{_n}{'_' * _inplace} on each tensor" + (" in place." if _inplace else "; a tuple.")
        globals()[_f.__name__] = _f
