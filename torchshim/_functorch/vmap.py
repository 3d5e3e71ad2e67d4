"""torch._functorch.vmap: the parts of torch's vmap that libraries call, or replace by their own. `torch.vmap` here does not look into them."""
from __future__ import annotations

import functools

from .._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from ..tensor.core.tensor import Tensor
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def _get_name(func):
    """A function's name, or what it prints as."""
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_get_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments as the mapped function sees them, where their dimensions are flattened."""
    return tree_unflatten([a if d is None else _add_batch_dim(a, d, vmap_level) for d, a in zip(flat_in_dims, flat_args)], args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """A result for all examples, its batch as dimension out_dim; where that is None it stays as it is, unless it is batched. ValueError for what is no tensor."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set "
                         "out_dims= to None for output?")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


__all__ = ["_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name", "_maybe_remove_batch_dim", "_remove_batch_dim",
           "tree_flatten", "tree_unflatten"]
