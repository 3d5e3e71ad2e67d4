"""Primitives without a rule: jitted calls, one primitive each, that programs share."""

from __future__ import annotations

import collections
import functools
from typing import Any, Callable

import jax
import numpy as np

from ..compile.options import compiler_options
from ..device import need_xla
from .rules import Spec

_JITTED: collections.OrderedDict[Any, Callable] = collections.OrderedDict()
_JITTED_LIMIT = 1024


@functools.lru_cache(maxsize=None)
def _host_device():
    """The CPU when it is not the default device: NumPy's values live there."""
    return None if jax.default_backend() == "cpu" else jax.local_devices(backend="cpu")[0]


def _holds_arrays(primitive, params) -> bool:
    """Whether the parameters keep arrays (or what a callback closes over) alive: then they are not cached."""
    if primitive.name.endswith("callback"):
        return True
    flat = [v for p in params.values() for v in (p if isinstance(p, tuple) else (p,))]
    return any(len(getattr(v, "consts", ())) for v in flat if hasattr(v, "jaxpr"))


def jitted(primitive, params) -> Callable:
    """A compiled call of one primitive, shared by all programs that have it with these parameters."""
    key = None if _holds_arrays(primitive, params) else (primitive, tuple(sorted(params.items())))
    try:
        found = _JITTED.get(key)
    except TypeError:  # parameters that cannot be hashed
        key, found = None, None
    if found is not None:
        return found

    def one(*args):
        return primitive.bind(*args, **primitive.get_bind_params(params))

    one.__name__ = primitive.name
    compiled = jax.jit(one, compiler_options=compiler_options())

    def call(*args):
        need_xla(primitive.name)
        device = _host_device()
        with jax.enable_x64(True), jax.ensure_compile_time_eval():     # the user may be tracing a function of their own
            if device is None:
                return compiled(*args)
            with jax.default_device(device):
                return compiled(*args)

    if key is not None:
        _JITTED[key] = call
        while len(_JITTED) > _JITTED_LIMIT:
            _JITTED.popitem(last=False)
    return call


def flat(eqn, dtypes, out: Spec) -> Callable:
    """The compiled call for an elementwise primitive, on flat arrays padded to 256 * 4**k elements."""
    call = jitted(eqn.primitive, eqn.params)
    size, shape = out.size, out.shape
    padded = 256
    while padded < size:
        padded *= 4

    def elementwise(*args):
        flat = []
        for x, dtype in zip(args, dtypes):
            buffer = np.zeros(padded, dtype)
            buffer[:size].reshape(shape)[...] = x
            flat.append(buffer)
        return np.asarray(call(*flat))[:size].reshape(shape)

    return elementwise
