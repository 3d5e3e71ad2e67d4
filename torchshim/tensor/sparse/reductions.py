"""Sums, norms and the softmax of sparse tensors."""
from __future__ import annotations

import numpy as np

from ...engine import context
from ...ops.promotion import c_name
from ..api.bind import FUNCTIONS as F
from ..core.device import to_jax
from .base import COO, handles, host, is_sparse, made, on
from .compressed import compress
from .coo import at, built, coalesce, gathered, places, to_coo, to_dense, values_of
from .history import lacking, missing, named, plain, traced
from .shapes import unsqueeze, wrapped


def _dims(dim, n):
    """The dimensions that are summed over, sorted."""
    dims = [wrapped(d, n) for d in ((dim,) if isinstance(dim, int) else dim)]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return sorted(dims)


def sparse_sum(a, dim=None, dtype=None):
    """torch.sparse.sum: dense where no sparse dimension is left, else sparse; so is its gradient."""
    if dtype is not None:
        a = a.to(dtype)
    if dim is None:
        return values_of(coalesce(a)).sum()
    if a._layout is not COO:
        raise missing("_indices", a)
    n, dims = a.dim(), a._index[0].shape[0]
    gone = _dims(dim, n)
    if not gone:
        return coalesce(a)
    a = coalesce(a) if is_sparse(a) else a
    vals, inner = values_of(a), [d - dims + 1 for d in gone if d >= dims]
    if inner:
        vals = vals.sum(inner, dtype=vals.dtype)
    left = [d for d in range(dims) if d not in gone]
    if not left:
        return named(vals.sum(0, dtype=vals.dtype), "SparseSumBackward0") if dims else vals
    shape = [m for d, m in enumerate(a._ts_meta.shape) if d not in gone]
    if len(left) == dims:
        return named(built(a._index[0], vals, shape, True), "SparseSumBackward0")
    kept_shape = tuple(shape[:len(left)])
    index, vals = gathered(places(host(a._index[0])[left], kept_shape), vals, kept_shape)
    out = built(index, vals, shape, True)

    def gradient(g):
        if not is_sparse(g):
            raise RuntimeError("_sparse_sum_backward_cpu: expected grad_ Tensor to be sparse, but got dense")
        return at(g, plain(out))
    if out._ts_edge is not None:
        out._ts_edge._ts_gradients = (gradient,)
    return named(out, "SparseSumBackward0")


@handles("sum", "sparse_sum")
def total(a, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None):
    """torch.sum: of all values, or along dimensions: dense where no sparse dimension is left, else sparse. Its gradient is dense."""
    dim, keepdim = axis if dim is None else dim, keepdim if keepdims is None else keepdims
    p, whole = plain(a), tuple(a.shape)
    if dtype is None and not (a.is_floating_point() or a.is_complex()):
        dtype = F["sum"](p._vals.new_zeros(0)).dtype
    if dim is None:
        return traced("SumBackward0", p._vals.sum(dtype=dtype), (a,), (lambda g: g.expand(whole),))
    if dtype is not None:
        p = p.to(dtype)
    gone = _dims(dim, len(whole))
    if a._layout is not COO:
        result = _compressed_total(a, p, gone, keepdim)
    else:
        result = sparse_sum(p, gone)
        for d in gone if keepdim else ():
            result = unsqueeze(result, d) if is_sparse(result) else result.unsqueeze(d)

    def gradient(g):
        if is_sparse(g):
            raise RuntimeError(f"expand is unsupported for Sparse{'' if g._layout is COO else 'Csr'} tensors")
        for d in () if keepdim else gone:
            g = g.unsqueeze(d)
        return g.expand(whole)
    return traced("SumBackward1", result, (a,), (gradient,))


def _compressed_total(a, p, gone, keepdim):
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if a._layout.name != "sparse_csr" or p._vals.dim() > 1:
        raise NotImplementedError(f"torchshim: sum of a tensor with layout {a._layout} along a dimension")
    if not gone:
        return p
    s = to_coo(p)
    where = host(s._index[0]).copy()
    where[gone] = 0
    shape = tuple([1 if d in gone else m for d, m in enumerate(a._ts_meta.shape)])
    index, vals = gathered(places(where, shape), s._vals, shape)
    return compress(made(COO, (index,), vals, shape, True), a._layout)


@handles("norm")
def norm(a, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of all values, those at the same place added before."""
    if a._layout is not COO:
        raise missing("norm.out", a)
    if p == "nuc":
        raise missing("_linalg_svd", a)
    if dim is not None and len(_dims(dim, a.dim())) not in (0, a.dim()):
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions "
                           "of the input")
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        if p == "fro":
            raise ValueError("dtype argument is not supported in frobenius norm")
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    if not (a.is_floating_point() or a.is_complex()):
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {c_name(a.dtype.np)} instead.")
    p = 2 if p == "fro" or p is None else p
    out = F["norm"](coalesce(plain(a))._vals.reshape(-1), p)
    gradient = (lambda g: a.sgn() * g) if p == 1 else lambda g: lacking("masked_fill_.Scalar")(a)
    return traced("NormBackward1", out, (a,), (gradient,), (a,))


@handles("any")
def anything(a, dim=None, keepdim=False, *, out=None):
    """Whether some value is not zero."""
    if dim is not None:
        raise missing("any.dim", a)
    return a._vals.any()


@handles("__bool__", "is_nonzero")
def truth(a):
    """Of a tensor with one element."""
    if a.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {'no values' if not a.numel() else 'more than one value'} is ambiguous")
    return bool(item(a))


@handles("item")
def item(a):
    """The one element, as a number."""
    if a.numel() != 1:
        raise RuntimeError(f"a Tensor with {a.numel()} elements cannot be converted to Scalar")
    return to_dense(plain(a)).item()


@handles("__format__")
def _format(a, spec):
    return item(a).__format__(spec) if not a.dim() else object.__format__(a, spec)


@handles("__float__")
def _float(a):
    return float(item(a))


@handles("__int__")
def _int(a):
    return int(item(a))


@handles("__complex__")
def _complex(a):
    return complex(item(a))


def softmax(a, dim, log=False, dtype=None):
    """The softmax along a dimension of what is there: what is not counts as minus infinity."""
    name = "log_softmax" if log else "softmax"
    if not is_sparse(a):
        raise missing(f"_sparse_{name}", a)
    a = a if dtype is None else a.to(dtype)
    if not a.is_floating_point():
        raise NotImplementedError(f"\"{name}\" not implemented for '{c_name(a.dtype.np)}'")
    n = a.dim()
    dim = wrapped(dim, n)
    whole = coalesce(to_coo(a))
    p, dims = plain(whole), whole._index[0].shape[0]
    over = (lambda v: v.sum(dim - dims + 1, keepdim=True)) if dim >= dims else _grouped(p, dim, dims)
    vals = _softmaxed(p, p._vals, dim, dims, log)

    def gradient(g):
        if not is_sparse(g):
            raise RuntimeError("coalesce expected sparse coordinate tensor layout but got Strided")
        g = at(g, p)
        out = _softmaxed(p, values_of(whole), dim, dims, log) if context.grad is True else vals
        return built(p._index[0], g - out.exp() * over(g) if log else out * (g - over(g * out)), p._ts_meta.shape)
    out = made(COO, p._index, vals, p._ts_meta.shape, True)
    return traced("SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0", out, (a,), (gradient,), (a,))


def _groups(a, dim, dims):
    """The number of the line along `dim` that each value lies in, and how many there are."""
    where = host(a._index[0])
    others = [d for d in range(dims) if d != dim]
    _, group = np.unique(places(where[others], [a._ts_meta.shape[d] for d in others]), return_inverse=True)
    return on(to_jax(a.device), group.reshape(-1).astype(np.int64)), int(group.max(initial=-1)) + 1


def _grouped(a, dim, dims):
    """What adds values up by lines along a sparse dimension, and gives each value its line's sum."""
    to, n = _groups(a, dim, dims)
    return lambda v: F["zeros"]((n, *v.shape[1:]), dtype=v.dtype, device=v.device).index_add(0, to, v)[to] if n else v


def _softmaxed(a, vals, dim, dims, log):
    if dim >= dims:
        return F["log_softmax" if log else "softmax"](vals, dim - dims + 1)
    to, groups = _groups(a, dim, dims)
    if not groups or not vals._ts_meta.numel:
        return vals * 1
    index = to.reshape(-1, *[1] * (vals.dim() - 1)).expand_as(vals) if vals.dim() > 1 else to
    top = vals.new_full((groups, *vals.shape[1:]), -float("inf")).scatter_reduce(0, index, vals.detach(), "amax")
    shifted = vals - top[to]
    e = shifted.exp()
    sums = F["zeros"]((groups, *vals.shape[1:]), dtype=vals.dtype, device=vals.device).index_add(0, to, e)
    return shifted - sums.log()[to] if log else e / sums[to]
