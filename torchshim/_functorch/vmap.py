"""torch._functorch.vmap: the parts of torch's vmap that libraries call, or replace by their own:
`torch.vmap` asks those that were replaced."""
from __future__ import annotations

import functools

from .._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from ..func.vmap import _check_out_dims, _in_dims
from ..tensor.core.tensor import Tensor
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten


def _get_name(func):
    """A function's name, or what it prints as."""
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_get_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def _process_batched_inputs(in_dims, args, func):
    """(batch size, dimensions of the leaves, leaves, their structure) of a call's arguments. ValueError where they do not fit in_dims."""
    leaves, structure, dims, n = _in_dims(func, in_dims, args)
    return n, dims, leaves, structure


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments as the mapped function sees them, where their dimensions are flattened."""
    return tree_unflatten([a if d is None else _add_batch_dim(a, d, vmap_level) for d, a in zip(flat_in_dims, flat_args)], args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """A result for all examples, its batch as dimension out_dim; where that is None it stays as it is, unless it is batched.
    ValueError for what is no tensor."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and is_batchedtensor(batched_output):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set "
                         "out_dims= to None for output?")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """The results of a mapped function for all examples, their batches at out_dims. ValueError where these do not fit the results."""
    leaves, structure = tree_flatten(batched_outputs)
    _check_out_dims(func, out_dims)
    dims = _broadcast_to_and_flatten(out_dims, structure)
    if dims is None and structure.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                         f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {structure}.")
    return tree_unflatten([_maybe_remove_batch_dim(_get_name(func), x, vmap_level, batch_size, d) for x, d in zip(leaves, dims)], structure)


PARTS = (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)
__all__ = ["_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name", "_maybe_remove_batch_dim",
           "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched", "tree_flatten", "tree_unflatten"]
