"""From samples to batches: `default_collate` stacks, `default_convert` only makes tensors of arrays."""
from __future__ import annotations

import copy
import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np

from .... import Tensor, as_tensor, float64, stack, strided, tensor

np_str_obj_array_pattern = re.compile(r"[SaUO]")       # of dtypes that hold no numbers
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data):
    """NumPy arrays and numbers become tensors, inside dicts, lists and tuples too; all else stays."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, np.ndarray) and data.dtype.kind in "SUOV" or isinstance(data, (np.str_, np.bytes_)):
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(d) for d in data])
    return data


def _mapping(like, made):
    """`made` as a mapping of `like`'s class, where that can be had."""
    try:
        if isinstance(like, MutableMapping):
            out = copy.copy(like)
            out.update(made)
            return out
        return type(like)(made)
    except TypeError:
        return made


def _sequence(like, made):
    try:
        if isinstance(like, MutableSequence):
            out = copy.copy(like)
            for i, x in enumerate(made):
                out[i] = x
            return out
        return type(like)(made)
    except TypeError:
        return made


def collate(batch, *, collate_fn_map=None):
    """One batch from a list of samples, by the type of the first: `collate_fn_map` maps types, or tuples of them, to functions."""
    first, kind = batch[0], type(batch[0])
    for types, f in (collate_fn_map or {}).items():
        if kind is types:
            return f(batch, collate_fn_map=collate_fn_map)
    for types, f in (collate_fn_map or {}).items():
        if isinstance(first, types):
            return f(batch, collate_fn_map=collate_fn_map)
    again = lambda samples: collate(samples, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _mapping(first, {k: again([d[k] for d in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(again(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [again(samples) for samples in zip(*batch)]
        return columns if isinstance(first, tuple) else _sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors of one shape, stacked along a new first dimension."""
    first = batch[0]
    if first.is_nested or first.layout is not strided:
        raise RuntimeError(f"Batches of {'nested' if first.is_nested else 'sparse'} tensors are not currently supported by the default "
                           "collate_fn; please provide a custom collate_fn to handle them appropriately.")
    from .worker import get_worker_info
    if get_worker_info() is not None and any(t.requires_grad for t in batch):         # torch stacks into shared memory there
        raise RuntimeError("stack(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                           "requires grad.")
    return stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Arrays of numbers, stacked."""
    if batch[0].dtype.kind in "SUOV":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return stack([as_tensor(b) for b in batch], 0)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn,
                          (np.bool_, np.number, np.object_): collate_numpy_scalar_fn, float: collate_float_fn, int: collate_int_fn,
                          str: collate_str_fn, bytes: collate_str_fn}


def default_collate(batch):
    """Stack samples into a batch: tensors and arrays along a new first dimension, numbers into a tensor (float64 for floats), dicts,
    tuples and lists element by element; strings stay a list. TypeError for anything else."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
