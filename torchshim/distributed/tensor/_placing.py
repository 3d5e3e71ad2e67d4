"""How the result of an operator lies on the mesh, from how its arguments lie.

One process has all of every tensor, so a placement decides no value. What torch's sharding propagation gives is followed where one rule
says it for a family (elementwise operators, views, reductions, products, operators along a dimension); any other result is replicated.
"""
from __future__ import annotations

from .placement_types import Partial, Replicate, Shard, _NormPartial

_REDUCE = {"sum": "sum", "nansum": "sum", "mean": "avg", "max": "max", "amax": "max", "min": "min", "amin": "min", "prod": "product",
           "all": "product", "any": "sum", "norm": "norm", "vector_norm": "norm"}
_LINEAR = {"sum", "clone", "neg", "to", "detach", "float", "half", "double", "bfloat16", "contiguous", "type"}
_ALONG = {"softmax": -1, "log_softmax": -1, "cumsum": 0, "cumprod": 0, "sort": -1, "argsort": -1, "flip": 0, "topk": -1, "normalize": 1,
          "layer_norm": -1, "rms_norm": -1, "logcumsumexp": 0, "cummax": 0, "cummin": 0}
_PRODUCT = {"mm", "matmul", "bmm", "__matmul__", "__rmatmul__", "linear"}
_NOT_ELEMENTWISE = {"roll", "tril", "triu", "cross_entropy", "nll_loss", "inverse", "inv", "svd", "qr", "cholesky", "eigh", "solve",
                    "scatter", "gather", "take_along_dim", "index_add", "index_copy", "index_fill", "split", "chunk"}


def placed(name, tensors, result, args, kwargs):
    """The placements of `result`: a tuple with one for each dimension of the mesh.

    name: the function's, without its module; tensors: the DTensors among its arguments, plain.
    """
    mesh = tensors[0][1].mesh
    tensors = [(x, spec) for x, spec in tensors if spec.mesh is mesh or spec.mesh == mesh]        # of several meshes the first one counts
    return tuple([_one(name, [(x, spec.placements[k]) for x, spec in tensors], result, args, kwargs) for k in range(mesh.ndim)])


def _one(name, given, result, args, kwargs):
    if all([p.is_replicate() for _, p in given]):
        return Replicate()
    x, p = next(((x, p) for x, p in given if not p.is_replicate()))
    if name in _PRODUCT:
        return _product(name, given, result)
    if name == "embedding":
        return _embedding(given, result)
    if p.is_partial():
        return p if name in _LINEAR and p.reduce_op == "sum" or name in ("detach", "clone", "view_as") else Replicate()
    if name in _REDUCE and (result.dim() < x.dim() or kwargs.get("keepdim") or result.dim() == 0):
        return _reduced(name, x, p, result, args, kwargs)
    if name in _ALONG and result.dim() == x.dim():
        dims = _dims(args, kwargs, x.dim(), _ALONG[name])
        if name in ("layer_norm", "rms_norm"):
            shape = args[1] if len(args) > 1 else kwargs.get("normalized_shape")
            dims = range(x.dim() - (1 if isinstance(shape, int) else len(shape)), x.dim())
        return Replicate() if p.dim in dims else p
    if name in _NOT_ELEMENTWISE:
        return Replicate()
    if result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() and result.numel() and name not in ("expand", "broadcast_to"):
        return _viewed(x, p, result)
    dim = p.dim + result.dim() - x.dim()              # elementwise: the shapes are aligned at their ends
    return p._of(dim) if dim >= 0 and x.shape[p.dim] == result.shape[dim] and x.shape[p.dim:] == result.shape[dim:] else Replicate()


def _dims(args, kwargs, ndim, default):
    given = kwargs.get("dim", args[1] if len(args) > 1 else default)
    given = default if given is None else given
    return [d % ndim if ndim else 0 for d in (given if isinstance(given, (tuple, list)) else (given,))
            if isinstance(d, int) and not isinstance(d, bool)]


def _viewed(x, p, result):
    """A view keeps the cut on the dimension that reaches as far in memory: the same one, the group that it leads,
    the first of its parts."""
    reach = x.shape[p.dim] * x.stride(p.dim)
    for k in range(result.dim()):
        if result.shape[k] * result.stride(k) == reach and (result.shape[k] > 1 or x.shape[p.dim] == 1):
            return p._of(k)
    return Replicate()


def _reduced(name, x, p, result, args, kwargs):
    dims = _dims(args[1:] if _REDUCE[name] == "norm" else args, kwargs, x.dim(), None) if result.dim() else None
    if not dims or p.dim in dims:
        order = args[1] if len(args) > 1 else kwargs.get("ord", kwargs.get("p", 2))
        return Partial(_REDUCE[name]) if _REDUCE[name] != "norm" else _NormPartial("sum", order)
    return p if kwargs.get("keepdim") or result.dim() == x.dim() else p._of(p.dim - sum([d < p.dim for d in dims]))


def _product(name, given, result):
    (a, pa) = given[0]
    (b, pb) = given[1] if len(given) > 1 else (None, Replicate())
    if b is None or a.dim() == 0 or b.dim() < 2 or result.dim() < 2:
        return Replicate()
    columns, inner = (0, 1) if name == "linear" else (b.dim() - 1, b.dim() - 2)
    if pa.is_shard(a.dim() - 1):
        return Partial("sum") if pb.is_shard(inner) else Replicate()
    if pa.is_shard() and a.dim() == result.dim():
        return pa
    if pa.is_replicate() and pb.is_shard(columns):
        return Shard(result.dim() - 1)
    return Replicate()


def _embedding(given, result):
    placements = {x.is_floating_point(): p for x, p in given}
    weight, index = placements.get(True, Replicate()), placements.get(False, Replicate())
    if weight.is_shard():
        return Partial("sum") if weight.dim == 0 else Shard(result.dim() - 1)
    return index if index.is_shard() else Replicate()
