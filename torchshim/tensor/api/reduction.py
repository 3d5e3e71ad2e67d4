"""Reductions that are written in terms of others, or look at the data: norms, histograms, counts, cross products."""
from __future__ import annotations

import math

import numpy as np

from ...engine import TRACED, is_host, meta_of, value_of
from ...ops import norms as N, promotion as P, reduction as R, scan as _scan, sorting as _sorting      # noqa: F401  (declare)
from ...ops.common import wrap_dim
from ...ops.registry import OPS
from .bind import FUNCTIONS, call, function, into, type_name
from ..core.dispatch import wrap
from ..core.elements import followed
from ..core.handle import TensorBase, look, meta, read
from .undefined import no_derivative
from .views import warn_once


def need_tensor(name, x, what="input", position=1):
    """The TypeError for anything but a tensor."""
    if not isinstance(x, TensorBase):
        raise TypeError(f"{name}(): argument '{what}' (position {position}) must be Tensor, not {type_name(x)}")
    return x


def as_int(name, x, what="dim", position=2):
    """A Python int from what torch takes as one."""
    if x.__class__ is int:
        return x
    if isinstance(x, (bool, float, str, list, tuple)) or not hasattr(x, "__index__"):
        where = "" if position is None else f" (position {position})"
        raise TypeError(f"{name}(): argument '{what}'{where} must be int, not {type_name(x)}")
    return x.__index__()


@function("diff", out=True)
def diff(input, n=1, dim=-1, prepend=None, append=None, *, axis=None):
    """The n-th difference along a dimension; where there is nothing along it, the tensor itself."""
    m, n, dim = meta(need_tensor("diff", input)), as_int("diff", n, "n", 2), as_int("diff", dim if axis is None else axis, "dim", 3)
    for k, x in ((4, prepend), (5, append)):
        if x is not None and not isinstance(x, TensorBase):
            raise TypeError(f"diff(): argument '{'prepend' if k == 4 else 'append'}' (position {k}) must be Tensor, not {type_name(x)}")
    if n == 0 and m.ndim:
        return FUNCTIONS["zeros_like"](input).copy_(input)
    if prepend is append is None and m.ndim and n > 0 and -m.ndim <= dim < m.ndim and not m.shape[dim]:
        return input
    return call(OPS[None, "diff.some"], (input, n, dim, prepend, append))


# -- norms ------------------------------------------------------------------------------------------------------------------
@function("norm", method=False)
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """Vector norm of order p over `dim` (or everything); 'fro' is 2, 'nuc' the sum of the singular values."""
    need_tensor("norm", input)
    if isinstance(dim, int):
        dim = (dim,)
    elif isinstance(dim, list):
        dim = tuple(dim)
    if isinstance(p, TensorBase):
        p = p.item()
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        if p == "nuc":
            dim = tuple(range(input.ndim)) if dim is None else dim
        if p == "nuc" and len(dim) == 2 and len({wrap_dim(d, input.ndim) for d in dim}) == 1:
            raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
        if dim is not None and (len(dim) > 2 or p == "nuc" and len(dim) != 2):
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
        if p == "nuc":
            made = call(N.nuclear_norm, (input if dtype is None else input.to(dtype), dim, keepdim))
            return made if out is None else into(out, made, "norm")
        p = 2
    made = call(N.linalg_vector_norm, (input, 2 if p is None else p, dim, keepdim, dtype), "linalg_vector_norm")
    return made if out is None else into(out, made, "norm")


def _norm_method(self, p="fro", dim=None, keepdim=False, dtype=None):
    """See torch.norm."""
    return norm(self, p, dim, keepdim, dtype=dtype)


_norm_method.__name__, _norm_method.__qualname__ = "norm", "Tensor.norm"
_norm_method.__code__ = _norm_method.__code__.replace(co_qualname="Tensor.norm")
function("norm", torch=False)(_norm_method)


# -- histograms, products of vectors ----------------------------------------------------------------------------------------
@function(out=True)
def histc(input, bins=100, min=0, max=0):
    """Counts of the elements in `bins` equal intervals of [min, max]; of the data's range when the two are equal."""
    need_tensor("histc", input)
    low, high = (float(x.item() if isinstance(x, TensorBase) else x) for x in (min, max))
    if input._ts_meta.dtype == P.bool_:
        raise R.unsupported("linspace_cpu", input._ts_meta)
    if low > high and math.isfinite(low):
        raise RuntimeError("torch.histc: max must be larger than min")
    if low == high and input.numel():
        low, high = (x.item() for x in call(OPS[None, "aminmax"], (input.detach(), None, False)))
    if not (math.isfinite(low) and math.isfinite(high)):
        sign = "-" * (low != low and input.numel() > 1)       # the nan that torch's kernel makes of several elements
        raise RuntimeError(f"torch.histc: range of [{sign}{low:g}, {sign}{high:g}] is not finite")
    if low == high and input._ts_meta.dtype.kind in "iu":      # its edges are made in the input's dtype, before the kernel refuses
        limits = np.iinfo(input._ts_meta.dtype)
        if low - 1 < limits.min or high + 1 > limits.max:
            raise RuntimeError(f"value cannot be converted to type {input._ts_meta.dtype}_t without overflow")
    return call(OPS[None, "histc.in"], (input, as_int("histc", bins, "bins", None), low, high))


@function()
def bincount(input, weights=None, minlength=0):
    """How often each value occurs in a vector of non-negative integers. Its length depends on the data, which is looked at."""
    need_tensor("bincount", input)
    m = input._ts_meta
    if m.dtype.kind not in "iu":
        raise R.unsupported("bincount_cpu", m)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    wrong = RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if m.ndim != 1:
        raise wrong
    if weights is not None and (weights.ndim != 1 or weights.shape != input.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None and m.numel and is_host(m.device) and read(input).extra is not TRACED and not followed():
        try:                                   # its values are looked at in any case
            counts = np.bincount(np.asarray(look(input)).astype(np.int64, copy=False), minlength=minlength)
        except ValueError:
            raise wrong from None
        return wrap(value_of(counts, meta_of(counts.shape, counts.dtype, m.device)))
    length = minlength
    if m.numel:
        low, high = (x.item() for x in call(OPS[None, "aminmax"], (input, None, False)))
        if low < 0:
            raise wrong
        length = high + 1 if high >= minlength else minlength
    return no_derivative(call(OPS[None, "bincount.sized"], (input, weights, length)), (weights,), "aten::bincount")


@function()
def cross(input, other, dim=None, *, out=None):
    """Cross product along `dim`, or along the first dimension of length 3."""
    need_tensor("cross", input)
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
        warn_once("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
                  "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.")
    made = call(_scan.linalg_cross, (input, other, dim))
    return made if out is None else into(out, made, "cross", (input, other))


@function(namespace="linalg", method=False, out=True)
def _powsum(input, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The sum of |input| ** ord: a vector norm before its root."""
    d = meta(input).dtype
    if P.kind_of(d) < 2:
        raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{P.c_name(d)}'")
    given = input.detach() if dtype is None else input.detach().to(dtype)
    dims = tuple(range(input.ndim)) if dim is None else dim
    return no_derivative((given.abs() ** ord).sum(dims, keepdim), (input,), "aten::linalg__powsum")


def _of_bools(reduction, line):
    @function(f"_is_{reduction}_true")
    def f(self):
        if meta(self).dtype != np.bool_:
            raise RuntimeError(f"self.scalar_type() == at::kBool INTERNAL ASSERT FAILED at \"/__w/pytorch/pytorch/aten/src/ATen/native/"
                               f"ReduceOps.cpp\":{line}, please report a bug to PyTorch. ")
        return FUNCTIONS[reduction](self)
    f.__doc__ = f"`{reduction}` of a tensor of bools; RuntimeError for others."


_of_bools("all", 2144)
_of_bools("any", 2148)
