"""Functions of sparse tensors, value by value, that leave zeros zeros."""
from __future__ import annotations

import math

from ..api.bind import FUNCTIONS as F
from ...ops.promotion import c_name
from .arithmetic import delivered, fitting, snapshot
from .base import COO, handles, is_sparse, like, write
from .coo import at, coalesce, to_dense
from .history import lacking, missing, plain, traced


def _mapped(a, f):
    """f of the values; those at the same place are added before."""
    a = coalesce(plain(a)) if a._layout is COO else plain(a)
    return like(a, f(a._vals))


def _no_dense_sum(g):
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def _no_format(g):
    raise RuntimeError("memory format option is only supported by strided tensors")


def _zeros(a, out):
    return lambda g: F["zeros_like"](g)


def _times(factor):
    return lambda a, out: lambda g: g * factor


def _relu(a, out):
    """Where the result is positive."""
    def gradient(g):
        if not is_sparse(g):
            raise missing("_nnz", g)
        g = coalesce(g) if g._layout is COO else g
        return g * like(g, (at(out, plain(g)) > 0).to(g.dtype))
    return gradient


def _log1p(a, out):
    return lambda g: g * (to_dense(a) + 1).reciprocal()


#: {name: what makes the gradient, of the tensor and the result}; torch lacks operators for many of them.
_GRADIENTS = dict(
    abs=lambda a, out: lambda g: g * a.sgn(), sqrt=lambda a, out: lambda g: g / (out * 2), sign=_zeros, ceil=_zeros, floor=_zeros,
    round=_zeros, trunc=_zeros, frac=lambda a, out: lambda g: g, neg=lambda a, out: lambda g: -g, relu=_relu, log1p=_log1p,
    deg2rad=_times(math.pi / 180), rad2deg=_times(180 / math.pi), sgn=lambda a, out: lacking("_efficientzerotensor"),
    sin=lambda a, out: lacking("cos"), sinh=lambda a, out: lacking("cosh"), tanh=lambda a, out: lacking("tanh_backward"),
    erf=lambda a, out: lacking("exp"), erfinv=lambda a, out: lacking("exp"), nan_to_num=lambda a, out: lacking("ne.Scalar"),
    atanh=lambda a, out: _no_format)
_ALIASES = dict(abs=("absolute", "__abs__"), asin=("arcsin",), asinh=("arcsinh",), atan=("arctan",), atanh=("arctanh",),
                neg=("negative", "__neg__"), trunc=("fix",))
_NODES = dict(log1p="Log1P", deg2rad="Deg2Rad", rad2deg="Rad2Deg", nan_to_num="NanToNum")


def _unary(name):
    def act(a, *args, out=None, **kwargs):
        if not is_sparse(a) or out is not None and not is_sparse(out):
            raise RuntimeError("Expected self.is_sparse() && result.is_sparse() to be true, but got false.  (Could this error message be "
                               "improved?  If so, please report an enhancement request to PyTorch.)")
        if out is a and a._layout is COO and not a._coalesced and name != "neg":
            raise RuntimeError("expected coalesced tensor for inplace operation")
        if name == "round" and (args or kwargs):
            raise missing("round.decimals", a)
        f = lambda v: getattr(v, name)(*args, **kwargs)
        p = plain(a)
        result = like(p, f(p._vals)) if name == "neg" else _mapped(p, f)
        gradient = _GRADIENTS.get(name, lambda a, out: _no_dense_sum)(a, plain(result))
        result = traced(f"{_NODES.get(name, name.capitalize())}Backward0", result, (a,), (gradient,),
                        (a,) if name in ("abs", "log1p") else ())
        return delivered(name, result, out)

    def act_(a, *args, **kwargs):
        if a._layout is COO and not a._coalesced and name != "neg":
            raise RuntimeError(f"{name}_ requires coalesced input")
        return write(a, fitting(name, act(snapshot(a), *args, **kwargs), a))
    act.__doc__, act_.__doc__ = f"{name} of every value.", f"{name} of every value, in place."
    aliases = _ALIASES.get(name, ())
    handles(name, *aliases)(act)
    if not name.startswith(("is", "signbit")):
        handles(*[n + "_" for n in (name, *aliases) if not n.startswith("__")])(act_)
    return act, act_


for _name in """abs sqrt sign sgn sin sinh tan tanh asin asinh atan atanh ceil floor round trunc expm1 log1p erf erfinv deg2rad rad2deg
        isnan isinf isposinf isneginf signbit frac nan_to_num neg""".split():
    _unary(_name)
_relu_of, _relu_in_place = _unary("relu")
handles("nn.functional.relu")(lambda a, inplace=False: _relu_in_place(a) if inplace else _relu_of(a))


@handles("pow", "__pow__", "float_power")
def power(a, exponent, *, out=None):
    """A power other than the zeroth; values at the same place are added before."""
    if not is_sparse(a):
        raise missing("pow.Scalar", exponent)
    if hasattr(exponent, "_ts_meta"):
        raise missing("pow.Tensor_Tensor", a)
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    if a._layout is not COO:
        raise missing("pow.Tensor_Scalar", a)
    result = _mapped(a, lambda v: v.pow(exponent))
    if result.dtype is not a.dtype:
        raise RuntimeError(f"result type {c_name(result.dtype.np)} can't be cast to the desired output type {c_name(a.dtype.np)}")
    result = traced("PowBackward0", result, (a,), (lambda g: g * (power(a, exponent - 1) * exponent),), (a,))
    return delivered("pow", result, out)


@handles("square")
def square(a, *, out=None):
    """The second power."""
    return power(a, 2, out=out)


@handles("square_", "pow_", "__ipow__")
def power_(a, *args):
    raise missing("pow_.Scalar", a)


@handles("conj", "conj_physical", "_conj_physical")
def conjugate(a):
    """The conjugate; a real tensor as it is."""
    if not a.is_complex():
        return a
    p = plain(a)
    return traced("ConjPhysicalBackward0", like(p, p._vals.conj_physical()), (a,), (lambda g: g.conj(),))


@handles("conj_physical_")
def conjugate_(a):
    return write(a, conjugate(snapshot(a))) if a.is_complex() else a


@handles("real")
def real(a):
    """The real parts; a real tensor as it is."""
    if not a.is_complex():
        return a
    p = plain(a)
    return traced("RealBackward0", like(p, p._vals.real.clone()), (a,), (lambda g: g.to(a.dtype),))


@handles("imag")
def imag(a):
    """The imaginary parts."""
    if not a.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    p = plain(a)
    return traced("ImagBackward0", like(p, p._vals.imag.clone()), (a,), (lambda g: g.to(a.dtype) * 1j,))


