"""Spreading arguments over devices and collecting results, with gradients."""
from __future__ import annotations

from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.tensor import Tensor


def _on(device):
    return f"cuda:{device}" if isinstance(device, int) else device


def _is_namedtuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def scatter(inputs, target_gpus, dim=0):
    """Split every tensor of a nest along `dim`, a part for each device: a list with a nest for each. Other objects are repeated."""
    n = len(target_gpus)
    if isinstance(inputs, Tensor):
        return [part.to(_on(device)) for part, device in zip(inputs.chunk(n, dim), target_gpus)]
    if isinstance(inputs, (tuple, list)) and inputs:
        parts = zip(*[scatter(x, target_gpus, dim) for x in inputs])
        return [type(inputs)(*p) if _is_namedtuple(inputs) else type(inputs)(p) for p in parts]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*[scatter(x, target_gpus, dim) for x in inputs.values()])
        return [type(inputs)(zip(inputs, p)) for p in parts]
    return [inputs] * n


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """scatter for positional and named arguments: two tuples of the same length."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(args), len(named))
    return tuple(args + [()] * (n - len(args))), tuple(named + [{}] * (n - len(named)))


def gather(outputs, target_device, dim=0):
    """The nests that devices made as one on `target_device`: tensors are concatenated along `dim`."""
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [t.to(_on(target_device)) for t in outputs]
        return FUNCTIONS["cat"]([t.reshape(1) if t.dim() == 0 else t for t in parts], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    made = [gather(list(parts), target_device, dim) for parts in zip(*outputs)]
    return type(first)(*made) if _is_namedtuple(first) else type(first)(made)
