"""Sums, products and functions of sparse tensors, element by element, and reductions."""
from __future__ import annotations

import numpy as np

from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from ..core.dtype import can_cast, promote_types
from ..core.handle import TensorBase
from .base import COO, NAMES, handles, host, is_sparse, like, made, no_tensor, on, write
from .compressed import compress
from .coo import _places, coalesce, gathered, to_coo, to_dense


def _promoted(a, b):
    """The values of two tensors in the dtype of their sum."""
    dtype = promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _same_places(a, b):
    return all([i is j or i.shape == j.shape and np.array_equal(host(i), host(j)) for i, j in zip(a._index, b._index)])


def _check_shapes(a, b, name):
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same size, but self has size {list(a.shape)} while other has size "
                           f"{list(b.shape)} (FYI: dense-sparse {name}ition does not currently support broadcasting)" if name == "add" else
                           f"{name} operands have incompatible sizes")


@handles("add", "__add__", "__radd__")
def add(a, b, *, alpha=1):
    """Sparse + sparse of one layout, or dense + sparse, which is dense."""
    if not is_sparse(b):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not is_sparse(a):
        if not isinstance(a, TensorBase) or a.dim() != b.dim():
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        _check_shapes(a, b, "add")
        b = to_coo(b)
        x, vals = _promoted(a, b._vals)
        return x.index_put(tuple(b._index[0]), vals if alpha == 1 else vals * alpha, accumulate=True)
    _check_shapes(a, b, "add")
    if a._layout is not b._layout:
        raise RuntimeError("add: expected both tensors to have the same layout")
    x, y = _promoted(a._vals, b._vals)
    y = y if alpha == 1 else y * alpha
    if a._vals.shape == b._vals.shape and _same_places(a, b):
        return like(a, x + y, coalesced=a._coalesced and b._coalesced)
    if a._layout is not COO:
        block = tuple(a._vals.shape[1:]) or None
        return compress(add(to_coo(a), to_coo(b), alpha=alpha), a._layout, block)
    index, vals = F["cat"]([a._index[0], b._index[0]], 1), F["cat"]([x, y])
    both = made(COO, (index,), vals, a._ts_meta.shape, False)
    return coalesce(both) if a._coalesced and b._coalesced else both


@handles("sub", "__sub__")
def sub(a, b, *, alpha=1):
    """add with -alpha."""
    if is_sparse(a) and not is_sparse(b):
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return add(a, b, alpha=-alpha)


@handles("rsub", "__rsub__")
def rsub(a, b, *, alpha=1):
    """b - alpha * a."""
    return sub(b, a, alpha=alpha)


@handles("mul", "multiply", "__mul__", "__rmul__")
def mul(a, b):
    """By a number, a dense tensor of the same shape, or a sparse one."""
    if not is_sparse(a):
        a, b = b, a
    if no_tensor(b):
        return like(a, a._vals * b)
    if a._layout is not COO:
        block = tuple(a._vals.shape[1:]) or None
        return compress(mul(to_coo(a), to_coo(b) if is_sparse(b) else b), a._layout, block)
    _check_shapes(a, b, "mul")
    if not is_sparse(b):
        return like(a, a._vals * b[tuple(a._index[0])])
    a, b = coalesce(a), coalesce(to_coo(b))
    if _same_places(a, b):
        return like(a, a._vals * b._vals)
    places, i, j = np.intersect1d(_places(a), _places(b), True, True)
    device = to_jax(a.device)
    return made(COO, (a._index[0][:, on(device, i)],), a._vals[on(device, i)] * b._vals[on(device, j)], a._ts_meta.shape, True)


@handles("div", "divide", "true_divide", "__truediv__", "__div__")
def div(a, b, *, rounding_mode=None):
    """By a number."""
    if not is_sparse(a) or not no_tensor(b):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(b.shape)} for divisor)")
    if a._layout is not COO:
        raise RuntimeError(f"unsupported tensor layout: {NAMES[a._layout.name]}")
    return like(a, a._vals.div(b, rounding_mode=rounding_mode))


def _fitting(name, made, a):
    """What an in-place operator made, in the dtype of the tensor that takes it."""
    if made.dtype is a.dtype:
        return made
    if not can_cast(made.dtype, a.dtype):
        result, target = c_name(made.dtype.np), c_name(a.dtype.np)
        if name == "div_":
            raise RuntimeError(f"result type {result} can't be cast to the desired output type {target}")
        raise RuntimeError(f"Can't convert result type {result} to output {target}" + (" in add operation" if name in ("add_", "sub_") else ""))
    return like(made, made._vals.to(a.dtype)) if is_sparse(made) else made


def _inplace(name, f, *more):
    @handles(name, *more)
    def act(a, *args, **kwargs):
        if not is_sparse(a):                   # dense += sparse
            if a.requires_grad and a.is_leaf:
                from ...engine import context
                if context.grad is True:
                    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            return a.copy_(_fitting(name, f(a, *args, **kwargs), a))
        return write(a, _fitting(name, f(a, *args, **kwargs), a))
    act.__doc__ = f"{name} for sparse tensors."


_inplace("add_", add, "__iadd__")
_inplace("sub_", sub, "__isub__")
_inplace("mul_", mul, "__imul__")
_inplace("div_", div, "__itruediv__", "__idiv__")


@handles("pow", "__pow__")
def power(a, exponent):
    """A positive power; values at the same place are added before."""
    if not is_sparse(a) or not no_tensor(exponent) or exponent <= 0:
        raise RuntimeError("pow: only sparse tensors with positive numbers as exponents" if is_sparse(a) else
                           "pow: a sparse exponent is not supported")
    return _mapped(a, lambda v: v.pow(exponent))


def _mapped(a, f):
    a = coalesce(a) if a._layout is COO else a
    return like(a, f(a._vals))


def _unary(name, linear):
    def act(a, *args, **kwargs):
        f = lambda v: getattr(v, name)(*args, **kwargs)
        return like(a, f(a._vals)) if linear else _mapped(a, f)
    act.__doc__ = f"{name} of every value; values at the same place are added before."
    handles(name)(act)
    if not name.startswith("is"):
        handles(name + "_")(lambda a, *args: write(a, act(a, *args)))


for _name in """abs sqrt square sign sgn relu sin sinh tan tanh asin asinh arcsin arcsinh atan atanh arctan arctanh ceil floor round trunc expm1 log1p
        erf erfinv deg2rad rad2deg isnan isinf signbit frac nan_to_num absolute""".split():
    _unary(_name, False)
for _name in "neg negative conj conj_physical real imag".split():
    _unary(_name, True)
handles("nn.functional.relu")(lambda a, inplace=False: write(a, _mapped(a, F["relu"])) if inplace else _mapped(a, F["relu"]))
handles("__neg__")(lambda a: like(a, -a._vals))
handles("__abs__")(lambda a: _mapped(a, lambda v: v.abs()))


@handles("sum", "sparse_sum")
def total(a, dim=None, keepdim=False, dtype=None):
    """The sum of all values, or along dimensions: dense where no sparse dimension is left, else sparse."""
    vals = a._vals
    if dtype is None and not (vals.is_floating_point() or vals.is_complex()):
        dtype = F["sum"](vals.new_zeros(0)).dtype
    vals = vals if dtype is None else vals.to(dtype)
    if dim is None:
        return vals.sum()
    if a._layout is not COO:
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        raise NotImplementedError("torchshim: sum of a compressed sparse tensor along a dimension")
    n, dims = a.dim(), a._index[0].shape[0]
    gone = {d % n for d in ([dim] if isinstance(dim, int) else dim)}
    inner = [d - dims + 1 for d in gone if d >= dims]
    if inner:
        vals = vals.sum(inner, keepdim=keepdim)
    shape = [1 if d in gone else m for d, m in enumerate(a._ts_meta.shape) if keepdim or d not in gone]
    if not keepdim and all([d in gone for d in range(dims)]):
        return vals.sum(0)
    where = host(a._index[0])
    left = [d for d in range(dims) if keepdim or d not in gone]
    rows = [where[d] * (d not in gone) for d in left]
    index_shape = tuple([1 if d in gone else a._ts_meta.shape[d] for d in left])
    return gathered(a, np.ravel_multi_index(rows, index_shape), vals, tuple(shape), index_shape)


@handles("norm")
def norm(a, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of all values."""
    if dim is not None:
        raise RuntimeError("norm_sparse currently does not support 'dim' with a sparse tensor")
    return F["norm"](_mapped(a, lambda v: v)._vals, p, dtype=dtype)


@handles("any")
def anything(a):
    """Whether some value is not zero."""
    return a._vals.any()


@handles("__bool__", "is_nonzero")
def truth(a):
    """Of a tensor with one element."""
    if a.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(to_dense(a).item())


@handles("item")
def item(a):
    """The one element, as a number."""
    if a.numel() != 1:
        raise RuntimeError(f"a Tensor with {a.numel()} elements cannot be converted to Scalar")
    return to_dense(a).item()


def softmax(a, dim, log=False, dtype=None):
    """The softmax along a sparse dimension of what is there: what is not counts as minus infinity."""
    a = coalesce(to_coo(a))
    vals = a._vals if dtype is None else a._vals.to(dtype)
    n, dims = a.dim(), a._index[0].shape[0]
    dim %= n
    if dim >= dims:
        f = F["log_softmax"] if log else F["softmax"]
        return like(a, f(vals, dim - dims + 1))
    where = host(a._index[0])
    others = [d for d in range(dims) if d != dim]
    group = np.zeros(where.shape[1], np.int64)
    if others:
        group = np.ravel_multi_index([where[d] for d in others], [a._ts_meta.shape[d] for d in others])
    _, group = np.unique(group, return_inverse=True)
    groups, device = int(group.max(initial=-1)) + 1, to_jax(a.device)
    to = on(device, group.reshape(-1).astype(np.int64))
    index = to.reshape(-1, *[1] * (vals.dim() - 1)).expand_as(vals) if vals.dim() > 1 else to
    top = vals.new_full((groups, *vals.shape[1:]), -float("inf")).scatter_reduce(0, index, vals.detach(), "amax")
    shifted = vals - top[to]
    e = shifted.exp()
    sums = F["zeros"]((groups, *vals.shape[1:]), dtype=vals.dtype, device=vals.device).index_add(0, to, e)
    return like(a, shifted - sums.log()[to] if log else e / sums[to])
