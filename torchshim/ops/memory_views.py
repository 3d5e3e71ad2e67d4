"""Views of memory as such: windows of it by strides, and the same bytes as another dtype, conjugated or negated."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import contiguous_strides
from ..engine.compile.gradient import conj
from ..engine.half import HELD
from . import promotion as P
from .layout import as_operands, as_written
from .views import ViewOp, as_it_is


def memory_order(m):
    """The permutation that makes a dense layout row-major (outermost dimension first)."""
    return tuple(sorted(range(m.ndim), key=lambda d: (-m.strides[d] if m.shape[d] != 1 else -np.inf, d)))


def flat_memory(x, base):
    """The elements of an array in the order of its memory; `base` is its Meta. Where that is not dense, between them there are zeros."""
    if base.contiguous:
        return x.ravel()
    if not base.dense:
        span = 1 + sum([(n - 1) * s for n, s in zip(base.shape, base.strides)])
        if isinstance(x, np.ndarray):
            flat = np.zeros(span, x.dtype)
            flat[places_of(base.shape, base.strides, 0)] = x
            return flat
        return jnp.zeros(span, x.dtype).at[places_in_trace(base.shape, base.strides, 0)].set(x)
    return x.transpose(memory_order(base)).ravel()


def _unflat(flat, base):
    if base.contiguous:
        return flat.reshape(base.shape)
    if not base.dense:
        return flat[places_in_trace(base.shape, base.strides, 0)]
    order = memory_order(base)
    return flat.reshape([base.shape[d] for d in order]).transpose(np.argsort(order))


def places_of(size, stride, offset):
    """Where in memory the elements of a window lie: an array of the window's shape."""
    at = np.asarray(offset, np.int64)
    for n, s in zip(size, stride):
        at = at[..., None] + np.arange(n) * s
    return at


def places_in_trace(size, stride, offset):
    """places_of in a trace, where the offset may not be known."""
    at = jnp.full(size, offset, jnp.int64)
    for d, s in enumerate(stride):
        if s and size[d] > 1:
            at = at + jax.lax.broadcasted_iota(jnp.int64, size, d) * s
    return at


def _get_as_strided(x, size, stride, offset, base):
    flat = flat_memory(x, base)
    if all(size):                                  # a gradient is asked for of what lies outside of `base`, too: it goes nowhere
        last = offset + sum([(n - 1) * s for n, s in zip(size, stride)])
        if offset < 0 or last >= flat.size:
            flat = jnp.pad(flat, (max(0, -offset), max(0, last + 1 - flat.size)))
            offset = max(offset, 0)
    if stride == contiguous_strides(size):
        count = int(np.prod(size, dtype=np.int64))
        return jax.lax.slice(flat, [offset], [offset + count]).reshape(size) if count else jnp.zeros(size, x.dtype)
    return flat[places_in_trace(size, stride, offset)]


def _put_as_strided(inst, x, v, size, stride, offset, base):
    if not v.size:
        return x
    flat = flat_memory(x, base)
    if stride == contiguous_strides(size):
        return _unflat(jax.lax.dynamic_update_slice(flat, v.ravel(), [jnp.asarray(offset, jnp.int64)]), base)
    return _unflat(flat.at[as_written(inst.out, places_in_trace(size, stride, offset))].set(as_written(inst.out, v)), base)


def _host_as_strided(x, size, stride, offset, base):
    flat = flat_memory(x, base)
    if not np.prod(size, dtype=np.int64):
        return np.zeros(size, x.dtype)
    if x.dtype.num >= 256:                         # NumPy has no name for a short float
        return _host_as_strided(x.view(f"u{x.itemsize}"), size, stride, offset, base).view(x.dtype)
    return np.lib.stride_tricks.as_strided(flat[offset:], size, [s * x.itemsize for s in stride], writeable=False)


def _back_as_strided(inst, ct, size, stride, offset, base):
    """What reaches a place in memory goes to the elements there in equal parts."""
    m = inst.in_metas[0]
    g = conj(jax.vjp(lambda x: inst.fn(x)[0], jnp.zeros(m.shape, m.dtype))[1](conj(ct))[0])
    if base.dense or not m.numel:
        return g
    places, counts = np.unique(places_of(base.shape, base.strides, 0), return_inverse=True, return_counts=True)[1:]
    if counts.max() == 1:
        return g
    places = places.reshape(m.shape)
    return (jnp.zeros(counts.shape, m.dtype).at[places].add(g) / counts.astype(g.real.dtype))[places]


as_strided = ViewOp("as_strided", _get_as_strided, lambda m, size, stride, offset, base: (size, m.dtype, stride),
                    _put_as_strided, _host_as_strided, _back_as_strided, coincide=True, lie=as_operands)


def constant_of_nothing(inst):
    """The gradient of what is seen of a window without elements is zeros, made anew."""
    return None if inst.out.numel else frozenset((0,))


as_strided.twice = constant_of_nothing

# -- the same memory as another dtype --------------------------------------------------------------------------------------
_REAL = {P.complex32: np.dtype("float16"), np.dtype("complex64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("float64")}
_COMPLEX = {r: c for c, r in _REAL.items()}


def _parts(x):
    return jnp.stack([jnp.real(x), jnp.imag(x)], -1) if x.dtype != HELD else jax.lax.bitcast_convert_type(x, jnp.float16)


def _joined(x):
    return jax.lax.complex(x[..., 0], x[..., 1]) if x.dtype != jnp.float16 else jax.lax.bitcast_convert_type(x, HELD)


def _conjugate(x):
    return jnp.conj(x) if x.dtype != HELD else x ^ np.uint32(1 << 31)


view_as_real = ViewOp(
    "view_as_real", _parts,
    lambda m: (m.shape + (2,), _REAL[m.dtype], tuple([2 * s for s in m.strides]) + (1,)),
    lambda inst, x, v: _joined(v), None, lambda inst, ct: _joined(ct))
view_as_complex = ViewOp(
    "view_as_complex", _joined,
    lambda m: (m.shape[:-1], _COMPLEX[m.dtype], tuple([s // 2 for s in m.strides[:-1]])),
    lambda inst, x, v: _parts(v), None, lambda inst, ct: _parts(ct))
conjugate = ViewOp("conj", _conjugate, lambda m: (m.shape, m.dtype, m.strides), lambda inst, x, v: _conjugate(v),
                   lambda x: np.conj(x) if x.dtype != HELD else _conjugate(x), lambda inst, ct: jnp.conj(ct), lie=as_it_is)


def _negative(x):
    return -x if x.dtype != HELD else x ^ np.uint32(1 << 31 | 1 << 15)


negate = ViewOp("_neg_view", _negative, lambda m: (m.shape, m.dtype, m.strides), lambda inst, x, v: _negative(v), _negative,
                lambda inst, ct: -ct, lie=as_it_is)
COMPUTED = frozenset((conjugate, negate))      # such a view does not show the memory as it is
NO_WINDOWS = COMPUTED | {view_as_real, view_as_complex}        # nor does `as_strided` of the base give these


def _get_bits(x, dtype, shape, strides):
    dtype = HELD if dtype is P.complex32 else dtype
    old, new = x.dtype.itemsize, np.dtype(dtype).itemsize
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        part = jnp.stack([jnp.real(x), jnp.imag(x)], -1)
        return _get_bits(part.reshape(part.shape[:-2] + (-1,)) if part.ndim > 1 else part, dtype, shape, strides)
    if dtype == np.bool_:
        return _get_bits(x, np.dtype(np.uint8), shape, None) != 0
    if np.dtype(dtype).kind == "c":
        half = np.float32 if new == 8 else np.float64
        y = _get_bits(x, half, tuple(shape) + (2,), None)
        return jax.lax.complex(y[..., 0], y[..., 1])
    if new > old:
        x = x.reshape(x.shape[:-1] + (-1, new // old))
    return jax.lax.bitcast_convert_type(x, dtype).reshape(shape)


def _put_bits(inst, x, v, dtype, shape, strides):
    m = inst.in_metas[0]
    if np.dtype(dtype) == np.bool_ and m.dtype.itemsize > 1:       # a bool holds one bit here, the byte below it may hold more
        raise NotImplementedError(f"torchshim: writing to a view of {m.dtype} as bool")
    return _get_bits(v, m.dtype, m.shape, m.strides)


view_dtype = ViewOp("view_dtype", _get_bits, lambda m, dtype, shape, strides: (shape, dtype, strides), _put_bits)
