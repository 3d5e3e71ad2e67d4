"""Operators whose result is an alias of their argument: how to read, where it lies, how to write back through it.

Each is an object with `resolve` (see `registry`), `view.put(inst, base, value, nums)`, the base with the view's elements
replaced, and a name for its `grad_fn` as the last entry of its layout.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Inst


class ViewOp:
    """A view operator: `get` computes the view from the base's logical array, `strides` where it lies."""
    vjp_rule = None
    promote = None

    def __init__(self, name, get, strides, put=None):
        self.name, self.get, self.strides = name, get, strides
        self.view, self._put, self.insts = self, put, {}

    def __repr__(self):
        return f"<op {self.name}>"

    def resolve(self, layout, metas, kinds):
        key = (layout, metas)
        inst = self.insts.get(key)
        if inst is None:
            meta, get = metas[0], self.get
            args = layout[:-1]

            def fn(base, *nums):
                return [get(base, *args, *nums)]
            inst = Inst(self, layout, fn, metas, kinds, meta.device, (self.strides(meta, *args),))
            inst.grad_fn_name = layout[-1]
            self.insts[key] = inst
        return inst

    def grad_name(self, inst):
        return inst.layout[-1]

    def put(self, inst, base, value, nums):
        if self._put is not None:
            return self._put(inst, base, value, *inst.layout[:-1], *nums)
        where = inst.fn(jnp.arange(base.size).reshape(base.shape), *nums)[0]
        return base.ravel().at[where.ravel()].set(value.ravel()).reshape(base.shape)


# -- slicing: one operator for a whole basic index ----------------------------------------------------------------------
SELECT, SLICE, NEW = 0, 1, 2


def _starts(spec, nums):
    it = iter(nums)
    return [next(it) if e[1] is None else e[1] for e in spec if e[0] != NEW]


def _get_slice(base, spec, *nums):
    """spec: one (kind, start, length, step) for each dimension, and NEW entries; start None: the next run-time number."""
    dims = [e for e in spec if e[0] != NEW]
    starts = _starts(spec, nums)
    if nums:
        spans = [1 if e[0] == SELECT else (e[2] - 1) * e[3] + 1 if e[2] else 0 for e in dims]
        out = jax.lax.dynamic_slice(base, [jnp.asarray(s, jnp.int64) for s in starts], spans)
        out = jax.lax.slice(out, [0] * base.ndim, out.shape, [e[3] for e in dims]) if any(e[3] != 1 for e in dims) else out
    else:
        limits = [s + 1 if e[0] == SELECT else s + (e[2] - 1) * e[3] + 1 if e[2] else s for s, e in zip(starts, dims)]
        out = jax.lax.slice(base, starts, limits, [e[3] for e in dims])
    return out.reshape(_slice_shape(spec))


def _slice_shape(spec):
    return tuple(1 if e[0] == NEW else e[2] for e in spec if e[0] != SELECT)


def _slice_strides(meta, spec):
    out, d = [], 0
    for kind, _, length, step in spec:
        if kind == NEW:
            out.append(meta.strides[d] * meta.shape[d] if d < meta.ndim else 1)
            continue
        if kind == SLICE:
            out.append(meta.strides[d] * step)
        d += 1
    return tuple(out)


def _put_slice(inst, base, value, spec, *nums):
    dims = [e for e in spec if e[0] != NEW]
    starts = _starts(spec, nums)
    full = value.reshape([1 if e[0] == SELECT else e[2] for e in dims])
    if 0 in full.shape:
        return base
    if all(e[3] == 1 for e in dims):
        return jax.lax.dynamic_update_slice(base, full, [jnp.asarray(s, jnp.int64) for s in starts])
    spans = [1 if e[0] == SELECT else (e[2] - 1) * e[3] + 1 for e in dims]
    at = [jnp.asarray(s, jnp.int64) for s in starts]
    window = jax.lax.dynamic_slice(base, at, spans)
    window = window.at[tuple(slice(None, None, e[3]) for e in dims)].set(full)
    return jax.lax.dynamic_update_slice(base, window, at)


slice_op = ViewOp("slice", _get_slice, _slice_strides, _put_slice)

# -- permutations and reshapes -------------------------------------------------------------------------------------------
permute = ViewOp("permute", lambda x, perm: jnp.transpose(x, perm), lambda m, perm: tuple(m.strides[p] for p in perm),
                 lambda inst, x, v, perm: jnp.transpose(v, np.argsort(perm)))
reshape = ViewOp("reshape", lambda x, shape, strides: jnp.reshape(x, shape), lambda m, shape, strides: strides,
                 lambda inst, x, v, shape, strides: jnp.reshape(v, x.shape))
expand = ViewOp("expand", lambda x, shape: jnp.broadcast_to(x, shape),
                lambda m, shape: expand_strides(m, shape))


def expand_strides(m, shape):
    lead = len(shape) - m.ndim
    out = []
    for d, n in enumerate(shape):
        if d < lead:
            out.append(0)
        else:
            out.append(0 if m.shape[d - lead] == 1 and n != 1 else m.strides[d - lead])
    for d in range(lead - 1, -1, -1):          # a new dimension of size 1 gets the stride that follows from the next
        if shape[d] == 1:
            out[d] = out[d + 1] * shape[d + 1] if d + 1 < len(shape) else 1
    return tuple(out)


def view_strides(meta, shape):
    """Strides with which `meta`'s memory can be seen as `shape`; None if it can't (torch's computeStride)."""
    if meta.numel == 0:
        if meta.shape == shape:
            return meta.strides
        from ..engine import contiguous_strides
        return contiguous_strides(shape)
    out = [0] * len(shape)
    d = len(shape) - 1
    base = meta.strides[-1] if meta.ndim else 1
    if not meta.ndim:
        return (1,) * len(shape)
    t_numel = v_numel = 1
    for t in range(meta.ndim - 1, -1, -1):
        t_numel *= meta.shape[t]
        if t == 0 or (meta.shape[t - 1] != 1 and meta.strides[t - 1] != t_numel * base):
            while d >= 0 and (v_numel < t_numel or shape[d] == 1):
                out[d] = v_numel * base
                v_numel *= shape[d]
                d -= 1
            if v_numel != t_numel:
                return None
            if t > 0:
                base = meta.strides[t - 1]
                t_numel = v_numel = 1
    return tuple(out) if d == -1 else None


# -- windows on memory -----------------------------------------------------------------------------------------------------
def _diagonal_strides(m, offset, d1, d2):
    rest = [m.strides[d] for d in range(m.ndim) if d not in (d1, d2)]
    return tuple(rest + [m.strides[d1] + m.strides[d2]])


diagonal = ViewOp("diagonal", lambda x, offset, d1, d2: jnp.diagonal(x, offset, d1, d2), _diagonal_strides)


def _get_unfold(x, dim, size, step):
    count = (x.shape[dim] - size) // step + 1
    at = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    out = jnp.take(x, jnp.asarray(at.ravel()), axis=dim).reshape(x.shape[:dim] + (count, size) + x.shape[dim + 1:])
    return jnp.moveaxis(out, dim + 1, -1)


def _unfold_strides(m, dim, size, step):
    s = list(m.strides)
    inner = s[dim]
    s[dim] = inner * step
    return tuple(s) + (inner,)


unfold = ViewOp("unfold", _get_unfold, _unfold_strides)


def _memory_places(shape, strides):
    at = np.zeros(shape, np.int64)
    for d, (n, s) in enumerate(zip(shape, strides)):
        at += (np.arange(n) * s).reshape([-1 if k == d else 1 for k in range(len(shape))])
    return at


def _as_strided_index(x_shape, base_strides, size, stride, offset):
    """Logical index into the root for each element that (size, stride, offset) names in memory."""
    places = _memory_places(x_shape, base_strides).ravel()
    inverse = np.full(int(places.max()) + 1 if places.size else 1, 0, np.int64)
    inverse[places] = np.arange(places.size)
    return inverse[_memory_places(size, stride) + offset]


def _get_as_strided(x, size, stride, offset, base_strides):
    return x.ravel()[_as_strided_index(x.shape, base_strides, size, stride, offset)]


as_strided = ViewOp("as_strided", _get_as_strided, lambda m, size, stride, offset, base_strides: stride)

# -- the same memory as another dtype --------------------------------------------------------------------------------------
view_as_real = ViewOp("view_as_real", lambda x: jnp.stack([jnp.real(x), jnp.imag(x)], -1),
                      lambda m: tuple(2 * s for s in m.strides) + (1,),
                      lambda inst, x, v: jax.lax.complex(v[..., 0], v[..., 1]))
view_as_complex = ViewOp("view_as_complex", lambda x: jax.lax.complex(x[..., 0], x[..., 1]),
                         lambda m: tuple(s // 2 for s in m.strides[:-1]),
                         lambda inst, x, v: jnp.stack([jnp.real(v), jnp.imag(v)], -1))


def _get_bits(x, dtype, shape, strides):
    old, new = x.dtype.itemsize, np.dtype(dtype).itemsize
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        part = jnp.stack([jnp.real(x), jnp.imag(x)], -1)
        return _get_bits(part.reshape(part.shape[:-2] + (-1,)) if part.ndim > 1 else part, dtype, shape, strides)
    if dtype == np.bool_:
        return (x != 0).reshape(shape)
    if new > old:
        x = x.reshape(x.shape[:-1] + (-1, new // old))
    if np.dtype(dtype).kind == "c":
        half = np.float32 if new == 8 else np.float64
        y = jax.lax.bitcast_convert_type(x, half)
        return jax.lax.complex(y[..., 0], y[..., 1]).reshape(shape)
    return jax.lax.bitcast_convert_type(x, dtype).reshape(shape)


def _put_bits(inst, x, v, dtype, shape, strides):
    m = inst.in_metas[0]
    return _get_bits(v, m.dtype, m.shape, m.strides)


view_dtype = ViewOp("view_dtype", _get_bits, lambda m, dtype, shape, strides: strides, _put_bits)
