"""Sums and products of sparse tensors, and what they have with dense ones and numbers."""
from __future__ import annotations

import math

import numpy as np

from ...ops.arithmetic import ONE_BOOL, TWO_BOOLS
from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from ..core.dtype import can_cast, promote_types
from ..core.handle import TensorBase
from ..core.tensor import tensor_from
from .base import COO, NAMES, handles, host, is_sparse, like, made, no_tensor, on, write
from .compressed import compressed_by
from .coo import _dense, at, coalesce, own_places, same_places, to_coo
from .history import conj, missing, plain, traced, underivable, write_dense


def _is_number(x):
    return not isinstance(x, TensorBase)


def unsupported(s):
    """torch's error where compressed layouts are not known."""
    return RuntimeError(f"unsupported tensor layout: {NAMES[s._layout.name]}")


def fitting(name, result, a):
    """What an operator made, in the dtype of the tensor `a` that takes it."""
    if result.dtype is a.dtype:
        return result
    if not can_cast(result.dtype, a.dtype):
        kind, target = c_name(result.dtype.np), c_name(a.dtype.np)
        if name in ("add", "sub"):
            raise RuntimeError(f"Can't convert result type {kind} to output {target} in add operation")
        if name == "mul" and is_sparse(a):
            raise RuntimeError(f"dtype of values ({kind}) must match dtype of sparse tensor ({target})")
        raise RuntimeError(f"result type {kind} can't be cast to the desired output type {target}")
    return result.to(a.dtype)


def snapshot(s):
    """A tensor as it is before it is written in place, with its history."""
    t = like(s, s._vals)
    t._ts_edge = None if s._ts_edge is True else s._ts_edge
    return t


def delivered(name, result, out):
    """What an operator made, in `out` if that was given."""
    if out is None:
        return result
    if is_sparse(result) != is_sparse(out):
        raise RuntimeError(f"Expected {'!r.is_sparse()' if is_sparse(out) else 'r.is_sparse()'} to be true, but got false.  (Could this "
                           "error message be improved?  If so, please report an enhancement request to PyTorch.)")
    result = fitting(name, result, out)
    return write(out, result) if is_sparse(out) else write_dense(out, result)


# -- sums --------------------------------------------------------------------------------------------------------------------
def _sum_checked(a, b, alpha):
    if isinstance(alpha, float) and not any([x.is_floating_point() or x.is_complex() for x in (a, b)]):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if not is_sparse(a):
        if tuple(a.shape) != tuple(b.shape):
            raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(a.shape)} while other has "
                               f"size {list(b.shape)} (FYI: {'dense' if b._layout is COO else 'op2'}-sparse addition does not currently "
                               "support broadcasting)")
    elif tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")
    elif a._layout is not b._layout:
        raise RuntimeError("add: expected both tensors to have the same layout")
    elif a._layout is COO and a._index[0].shape[0] != b._index[0].shape[0] and a._vals.shape[0] and b._vals.shape[0]:
        raise RuntimeError("add: expected 'self' and 'other' to have same density, but 'self' has {} sparse dimensions while 'other' has "
                           "{} sparse dimensions".format(a._index[0].shape[0], b._index[0].shape[0]))


def strung(a, b):
    """The sum of two gradients, without history: the values of both, one behind the other, unless their places are in order."""
    return _sum(plain(a), plain(b), 1)


def _sum(a, b, alpha):
    """a + alpha * b without history."""
    dtype = promote_types(a.dtype, b.dtype)
    if not is_sparse(a):
        if b._layout is not COO:
            b = to_coo(b)
        y = b._vals.to(dtype)
        if b._index[0].shape[0] and y._ts_meta.numel and dtype.name != "bool" and not y.is_meta:
            return a.to(dtype).index_put(tuple(b._index[0]), y if alpha == 1 else y * alpha, accumulate=True)
        return a.to(dtype) + _dense(b).to(dtype) * alpha
    x, y = a._vals.to(dtype), b._vals.to(dtype)
    y = y if alpha == 1 else y * alpha
    walked = a._coalesced and b._coalesced or x.is_contiguous() and y.is_contiguous()       # both from the first to the last
    if (walked or a._layout is not COO) and a._vals.shape == b._vals.shape and same_places(a, b):
        return like(a, x + y, coalesced=a._coalesced and b._coalesced)
    if a._layout is not COO:
        return compressed_by(_sum(to_coo(a), to_coo(b), alpha), a)
    if not b._vals.shape[0]:
        return like(a, x.clone())
    if not a._vals.shape[0]:
        return like(b, y.clone())
    if walked and not a.is_meta or a._coalesced and b._coalesced:
        return _merged(a, b, x, y)
    return made(COO, (F["cat"]([a._index[0], b._index[0]], 1),), F["cat"]([x, y]), a._ts_meta.shape, False)


def _merged(a, b, x, y):
    """The values of two COO tensors in the order of their places, as torch walks through both: what it finds at the same place is added.
    Values that lie in no order are taken as they come."""
    p, q = own_places(a), own_places(b)
    if a._coalesced and b._coalesced:
        order = np.argsort(np.concatenate([p, q]), kind="stable")
        first = np.concatenate([[True], np.diff(np.concatenate([p, q])[order]) != 0])
        to = np.empty(len(order), np.int64)
        to[order] = np.cumsum(first) - 1
        chosen = order[first]
    else:
        to, chosen = _walked(p.tolist(), q.tolist())
    device = to_jax(a.device)
    index = F["cat"]([a._index[0], b._index[0]], 1)[:, on(device, chosen)]
    if len(chosen) == len(to):
        vals = F["cat"]([x, y])[on(device, chosen)]
    else:
        total = F["zeros"]((len(chosen), *x.shape[1:]), dtype=x.dtype, device=x.device)
        vals = total.index_add(0, on(device, to[:len(p)]), x).index_add(0, on(device, to[len(p):]), y)
    return made(COO, (index,), vals, a._ts_meta.shape, a._coalesced and b._coalesced)


def _walked(p, q):
    """(which of the result each of the places p + q is, which of these the result's places are)."""
    to, chosen, i, j, n = [0] * (len(p) + len(q)), [], 0, 0, len(p)
    while i < n or j < len(q):
        left, right = i < n and (j == len(q) or p[i] <= q[j]), j < len(q) and (i == n or q[j] <= p[i])
        chosen.append(i if left else n + j)
        if left:
            to[i] = len(chosen) - 1
        if right:
            to[n + j] = len(chosen) - 1
        i, j = i + left, j + right
    return np.array(to, np.int64), np.array(chosen, np.int64)


def _scaled(g, alpha):
    return g if _is_number(alpha) and alpha == 1 else g * conj(alpha)


@handles("add", "__add__", "__radd__")
def add(a, b, *, alpha=1, out=None, _name="Add", _sign=1):
    """Sparse + sparse of one layout, or dense + sparse, which is dense."""
    if is_sparse(a) and a._layout is not COO and isinstance(b, TensorBase) and not is_sparse(b) and _sign == 1:
        a, b, alpha = (a * alpha, b, 1) if alpha != 1 else (a, b, 1)
        a, b = b, a                                  # of compressed ones torch takes either order
    if not is_sparse(b):
        if _name == "Sub" and is_sparse(a) and a._layout is not COO:
            raise unsupported(a)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if _sign < 0 and b._layout is not COO:
        raise unsupported(b)
    a = tensor_from(np.asarray(a)) if _is_number(a) else a
    _sum_checked(a, b, alpha)
    result = _sum(plain(a), plain(b), alpha * _sign)
    result = traced(f"{_name}Backward0", result, (a, b), (lambda g: g, lambda g: _scaled(g, alpha * _sign)))
    return delivered("add", result, out)


@handles("sub", "__sub__", "subtract")
def sub(a, b, *, alpha=1, out=None):
    """add with -alpha; no bool tensors."""
    bools = [x for x in (a, b) if isinstance(x, TensorBase) and x.dtype.name == "bool" or x is True or x is False]
    if bools:
        raise RuntimeError(TWO_BOOLS if len(bools) == 2 else ONE_BOOL)
    return add(a, b, alpha=alpha, out=out, _name="Sub", _sign=-1)


@handles("rsub", "__rsub__")
def rsub(a, b, *, alpha=1):
    """b - alpha * a."""
    return sub(b, a, alpha=alpha)


# -- products ----------------------------------------------------------------------------------------------------------------
def _expanded(s, shape):
    """A COO tensor without history in the larger shape that its own broadcasts to: new dimensions in front, and those of size 1."""
    lead, dims = len(shape) - s.dim(), s._index[0].shape[0]
    old = (1,) * lead + s._ts_meta.shape
    if tuple(shape[:lead + dims]) == old[:lead + dims]:
        return s
    s = coalesce(s)
    where, device = host(s._index[0]), to_jax(s.device)
    where = np.concatenate([np.zeros((lead, where.shape[1]), np.int64), where])
    wide = [d for d in range(lead + dims) if old[d] != shape[d]]
    copies = np.stack(np.unravel_index(np.arange(math.prod([shape[d] for d in wide])), [shape[d] for d in wide]))
    n = copies.shape[1]
    grown = np.tile(where, n)
    grown[wide] = np.repeat(copies, where.shape[1], 1)
    return made(COO, (on(device, grown),), s._vals.repeat(n, *[1] * (s._vals.dim() - 1)), (*shape[:lead + dims], *s._ts_meta.shape[dims:]))


def _product(a, b):
    """a * b without history, of a sparse `a`."""
    if no_tensor(b):
        return like(a, a._vals * b)
    if a._layout is not COO:
        if is_sparse(b) and b._layout is a._layout and a._vals.shape == b._vals.shape and same_places(a, b):
            return like(a, a._vals * b._vals)
        if not is_sparse(b):
            return like(a, a._vals * at(b.expand(a._ts_meta.shape), a))
        return compressed_by(_product(to_coo(a), to_coo(b)), a)
    if not is_sparse(b):
        shape = np.broadcast_shapes(a._ts_meta.shape, tuple(b.shape))
        s = _expanded(a, shape)
        dims = s._index[0].shape[0]
        d = b.expand(shape[:dims] + (1,) * (len(shape) - b.dim() - dims) + tuple(b.shape)[max(dims - len(shape) + b.dim(), 0):])
        picked = d[tuple(s._index[0])] if dims else d.unsqueeze(0)
        vals = s._vals * picked
        return made(COO, s._index, vals, shape, s._coalesced)
    b = to_coo(b)
    if not (a.dim() and b.dim()):              # one of them a single number
        a, b = (a, b) if a.dim() else (b, a)
        vals = a._vals if a.dim() else a._vals.to(promote_types(a.dtype, b.dtype))
        return like(a, vals * _dense(b))
    if not (a._vals.shape[0] and b._vals.shape[0]) and a._ts_meta.shape == b._ts_meta.shape:
        return like(a, a._vals[:0].to(promote_types(a.dtype, b.dtype)), [a._index[0][:, :0]], None, True)
    dims = a._index[0].shape[0]
    if a.dim() != b.dim() or b._index[0].shape[0] != dims or a._ts_meta.shape[:dims] != b._ts_meta.shape[:dims]:
        raise RuntimeError("sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
                           "dimensions, and shape of sparse dimensions")
    if a._ts_meta.shape != b._ts_meta.shape:   # in dense dimensions
        shape = np.broadcast_shapes(a._ts_meta.shape, b._ts_meta.shape)
        a, b = [like(s, s._vals.expand(-1, *shape[dims:]), None, shape) for s in (a, b)]
    if not (a._coalesced and b._coalesced):    # each value of the one that has places more than once meets the whole of the other
        if not (a._coalesced or b._coalesced):
            a = coalesce(a)
        if a._coalesced:
            return like(b, at(a, b) * b._vals)
        return like(a, a._vals * at(b, a))
    if a._vals.shape == b._vals.shape and same_places(a, b):
        return like(a, a._vals * b._vals)
    _, i, j = np.intersect1d(own_places(a), own_places(b), True, True)
    device = to_jax(a.device)
    return made(COO, (a._index[0][:, on(device, i)],), a._vals[on(device, i)] * b._vals[on(device, j)], a._ts_meta.shape, True)


def _checked_product(a, b):
    if isinstance(b, TensorBase) and not is_sparse(b):
        for d, (n, m) in enumerate(zip(reversed(a.shape), reversed(b.shape))):
            if n != m and 1 not in (n, m):
                dim = max(a.dim(), b.dim()) - 1 - d
                raise RuntimeError(f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {dim}")
    return _product(plain(a), plain(b))


@handles("mul", "multiply", "__mul__", "__rmul__")
def mul(a, b, *, out=None):
    """By a number, a dense tensor that broadcasts with it, or a sparse one: sparse."""
    result = _checked_product(a, b) if is_sparse(a) else _checked_product(b, a)
    result = traced("MulBackward0", result, (a, b), (lambda g: g * conj(b), lambda g: g * conj(a)), (a, b))
    return delivered("mul", result, out)


@handles("div", "divide", "true_divide", "__truediv__", "__div__")
def div(a, b, *, rounding_mode=None, out=None, what="Sparse division"):
    """By a number. With a rounding values at the same place are added before. `what`: how an error calls it."""
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    if is_sparse(b) and b.dim() == 0:
        raise RuntimeError(f"{what} requires a scalar or zero-dim dense tensor divisor (got a sparse divisor)")
    if not is_sparse(a) or not no_tensor(b):
        raise RuntimeError(f"{what} requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(getattr(b, 'shape', ()))} for divisor)")
    if a._layout is not COO:
        raise unsupported(a)
    p = plain(a) if rounding_mode is None else coalesce(plain(a))
    result = like(p, p._vals.div(plain(b), rounding_mode=rounding_mode))
    if rounding_mode is not None:
        gradients = [lambda g: F["zeros_like"](g)] * 2
    else:
        gradients = [lambda g: g / conj(b), lambda g: -(g * conj(a / (b * b)))]
    result = traced(f"DivBackward{0 if rounding_mode is None else 2}", result, (a, b), gradients, (a, b))
    return delivered("div", result, out)


@handles("floor_divide", "__floordiv__")
def floor_divide(a, b, *, out=None):
    """div, rounded down."""
    result = div(plain(a), plain(b), rounding_mode="floor", what="Sparse floor division")
    return delivered("div", traced("NotImplemented", result, (a, b), (underivable("floor_divide"),) * 2), out)


@handles("__rfloordiv__")
def rfloordiv(a, b):
    return floor_divide(b, a)


@handles("__rtruediv__", "__rdiv__", "reciprocal")
def reciprocal(a, *args):
    raise missing("reciprocal", a)


# -- in place ----------------------------------------------------------------------------------------------------------------
def _inplace(f, *names):
    name = f.__name__

    def act(a, b, **kwargs):
        if is_sparse(a):
            was = snapshot(a)
            written = write(a, fitting(name, f(was, was if b is a else b, **kwargs), a))
            if name == "mul" and not is_sparse(b):
                a._coalesced = False           # torch does not look
            return written
        result = f(a, b, **kwargs)
        if is_sparse(result):                  # dense *= sparse
            p, q = a.detach().clone(), plain(b)
            result = traced("MulBackward0", _dense(plain(result)), (a, b), (lambda g: g * conj(q), lambda g: g * conj(p)))
        return write_dense(a, fitting(name, result, a))
    act.__doc__ = f"{f.__name__} in place."
    handles(*names)(act)


_inplace(add, "add_", "__iadd__")
_inplace(sub, "sub_", "__isub__", "subtract_")
_inplace(mul, "mul_", "__imul__", "multiply_")
_inplace(div, "div_", "__itruediv__", "__idiv__", "divide_", "true_divide_")
_inplace(floor_divide, "floor_divide_", "__ifloordiv__")
