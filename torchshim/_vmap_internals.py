"""torch._vmap_internals: torch.vmap by the name that older programs import."""
from __future__ import annotations

import functools

from .func import vmap as _batching


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """torch.vmap(func); with allow_none_pass_through some of several results may be None, and stay so."""
    if not allow_none_pass_through:
        return _batching(func, in_dims, out_dims)

    @functools.wraps(func)
    def batched(*args):
        absent = []

        def tensors(*args):
            outs = func(*args)
            if not isinstance(outs, (tuple, list)):
                absent[:] = []
                return outs
            absent[:] = [o is None for o in outs]
            return tuple([o for o in outs if o is not None])
        found = _batching(tensors, in_dims, out_dims)(*args)
        if not absent:
            return found
        it = iter(found)
        return tuple([None if gone else next(it) for gone in absent])
    return batched


def vmap(func, in_dims=0, out_dims=0):
    """torch.vmap(func)."""
    return _vmap(func, in_dims, out_dims)
