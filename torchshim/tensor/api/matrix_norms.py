"""Norms of matrices, and what is made of them."""
from __future__ import annotations

import math
from operator import index

from ...ops.common import wrap_dim
from ...ops.linalg import common as C
from ...ops.norms import linalg_vector_norm, shown_order
from ...ops.promotion import c_name, kind_of
from .bind import call, function
from .linalg import inv_ex, linalg, svdvals
from .reduction import need_tensor


def _dims(dim):
    """One dimension, a tensor perhaps, or several as a tuple."""
    return tuple(dim) if isinstance(dim, (list, tuple)) else (index(dim),)


def _pair(dim):
    dim = _dims(dim)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    return dim


@function(**linalg)
def matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """A norm of matrices: 'fro', 'nuc', or of order 1, -1, 2, -2, inf, -inf."""
    need_tensor("linalg_matrix_norm", input)
    C.matrix("linalg.matrix_norm", input)
    C.inexact("linalg.matrix_norm", input._ts_meta)
    dim, keepdim = _pair(dim if axis is None else axis), keepdim if keepdims is None else keepdims
    order = number_of(ord)
    if order not in ("fro", "nuc") and order not in (1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {shown_order(ord)} not supported.")
    a, b = (wrap_dim(d, input.ndim) for d in dim)
    if a == b:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if dtype is not None:
        if kind_of(dtype.np) < 2:
            raise RuntimeError(f"linalg.matrix_norm: dtype should be floating point or complex, but got {c_name(dtype.np)}")
        if order != "fro":
            input = input.to(dtype)
    if order == "fro":
        return call(linalg_vector_norm, (input, 2, dim, keepdim, dtype))
    if order in ("nuc", 2, -2):
        C.inexact("linalg.matrix_norm", input._ts_meta, half=False)
        values = svdvals(input.movedim((a, b), (-2, -1)))
        empty = order == 2 and not values.shape[-1]
        made = values.sum(-1) if order == "nuc" or empty else values.amax(-1) if order == 2 else values.amin(-1)
        if keepdim:
            first, last = (a, b) if a < b else (b, a)
            made = made.unsqueeze(first).unsqueeze(last)
        return made
    summed, kept = (a, b) if abs(order) == 1 else (b, a)
    sums = call(linalg_vector_norm, (input, 1, (summed,), keepdim, None))
    if not keepdim and kept > summed:
        kept -= 1
    if order > 0 and not sums.shape[kept]:
        return sums.sum(kept, keepdim)
    return sums.amax(kept, keepdim) if order > 0 else sums.amin(kept, keepdim)


def number_of(ord):
    """An order of a norm as a string or a Python number."""
    return ord if isinstance(ord, str) else ord.item() if hasattr(ord, "item") else ord


@function("norm", **linalg)
def _linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
    """A vector norm (one dimension, or flattened without `ord`) or a matrix norm (two)."""
    need_tensor("linalg_norm", input)
    order, dim, keepdim = number_of(ord), dim if axis is None else axis, keepdim if keepdims is None else keepdims
    dim = None if dim is None else _dims(dim)
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]")
    if dim is None and order is not None and input.ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D.")
    if isinstance(order, str):
        return matrix_norm(input, order, dim if dim is not None else (-2, -1) if input.ndim > 1 else (0,), keepdim, dtype=dtype)
    if order is not None and (len(dim) == 2 if dim is not None else input.ndim == 2):
        return matrix_norm(input, order, dim or (-2, -1), keepdim, dtype=dtype)
    return call(linalg_vector_norm, (input, 2 if order is None else order, dim, keepdim, dtype))


@function(**linalg)
def cond(input, p=None):
    """The condition number in the norm `p`; by singular values for None, 2 and -2."""
    need_tensor("linalg_cond", input)
    if input.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    order = number_of(p)
    if order not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {shown_order(p)}")
    if isinstance(order, str):
        C.square(f"linalg.cond(ord={order})", input)
    if not input.numel():
        return input.new_zeros(input.shape[:-2], dtype=linalg_real(input))
    if order in (None, 2, -2):
        values = svdvals(input)
        first, last = values.narrow(-1, 0, 1), values.narrow(-1, -1, 1)
        return (first / last if order != -2 else last / first).squeeze(-1)
    C.square(f"linalg.cond(ord={order})", input)
    if order == "nuc":
        C.inexact("linalg.svd", input._ts_meta)
        C.kernel("linalg_svd_cpu", input._ts_meta)
    inverse, info = inv_ex(input)
    made = matrix_norm(input, order) * matrix_norm(inverse, order)
    return made.masked_fill(info != 0, math.inf)


def linalg_real(x):
    """The real dtype of a tensor's numbers."""
    return x.real.dtype if x.is_complex() else x.dtype


@function(method=False, out=True)
def nuclear_norm(input, dim=None, keepdim=False):
    """The sum of the singular values of a matrix, or of those along two dimensions."""
    need_tensor("nuclear_norm", input)
    if dim.__class__ is bool:                  # nuclear_norm(input, keepdim)
        dim, keepdim = None, dim
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@function(method=False, out=True)
def frobenius_norm(input, dim, keepdim=False):
    """The root of the sum of squares along one or two dimensions."""
    need_tensor("frobenius_norm", input)
    return _linalg_norm(input, None, None if dim in ((), []) else dim, keepdim)
