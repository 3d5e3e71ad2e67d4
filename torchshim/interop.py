"""Tensors into JAX and back, without copies."""
from __future__ import annotations

import jax
import numpy as np

from .engine import TRACED, Example, NeedsTracer, array_of, default_device, meta_of, present, value_of
from .engine.device import need_xla
from .tensor.core.dispatch import wrap
from .tensor.core.handle import read
from .tensor.core.overriding import settle
from .tensor.core.tensor import Tensor


def to_jax(t):
    """The tensor's values as a jax.Array (or the tracer it holds); no copy. History is not carried over."""
    settle()
    v = present(read(t))
    a = array_of(v)
    if a.__class__ is Example:
        raise NeedsTracer
    if isinstance(a, np.ndarray):
        need_xla("to_jax")
        with jax.enable_x64(True), jax.ensure_compile_time_eval():
            a = v.array = jax.device_put(a, v.meta.device)
    elif v.extra is not TRACED and not a.committed and v.meta.device is not jax.local_devices()[0]:
        a = v.array = jax.device_put(a, v.meta.device)         # or JAX would compute with it where it computes by default
    if v.extra is not TRACED:
        v.extra = None                         # the caller has it too: from now on the engine does not overwrite it
    return a


def from_jax(a, device=None):
    """A tensor around a jax.Array or tracer, without a copy. `device`: the JAX device that a tracer's array will be on (the CPU)."""
    if isinstance(a, jax.core.Tracer):
        v = value_of(a, meta_of(a.shape, a.dtype, device or default_device()))
        v.extra = TRACED
        return wrap(v)
    if not isinstance(a, jax.Array):
        raise TypeError(f"from_jax(): expected a jax.Array, not {type(a).__name__}")
    device = next(iter(a.devices()))
    return wrap(value_of(a, meta_of(a.shape, a.dtype, device)))


def _flatten(t):
    return (to_jax(t),), (type(t), t.requires_grad)


def _unflatten(aux, children):
    cls, requires_grad = aux
    (a,) = children
    if not hasattr(a, "shape") or not hasattr(a, "dtype"):
        t = object.__new__(Tensor)             # JAX rebuilds trees around placeholders; they are never used as tensors
        t._ts_st = t._ts_view = t._ts_edge = t._ts_extra = None
        t.__dict__["_placeholder"] = a
        return t
    if isinstance(a, np.ndarray):
        t = wrap(value_of(a, meta_of(a.shape, a.dtype, default_device())))
    else:
        t = from_jax(a)
    if cls is not Tensor:
        t.__class__ = cls
    if requires_grad:
        t._ts_edge = True
    return t


def _flatten_any(t):
    if t._ts_st is None:
        return (t.__dict__["_placeholder"],), (type(t), False)
    return _flatten(t)


jax.tree_util.register_pytree_node(Tensor, _flatten_any, _unflatten)
