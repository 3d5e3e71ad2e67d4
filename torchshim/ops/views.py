"""Operators whose result is an alias of their argument.

A `ViewOp` knows how to read its part of the base (`get`), where that part lies (`place`: shape, dtype and strides), how to
write back through it (`put`), what the gradient is (`back`), and how NumPy does the read without copying (`host`).
Nothing is traced until a program needs it, so that making a view costs microseconds however new it is.
The last entry of a layout is the name of the `grad_fn`.
"""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Instance, Operator, Plan, VjpOp, contiguous_strides, meta_of
from ..engine.compile.gradient import conj
from ..engine.interpret.copies import reshaped
from .layout import as_written, plain
from .casts import cast


class LazyInstance(Instance):
    """An Instance whose results are known without tracing its function."""
    __slots__ = ()

    def __init__(self, op, layout, fn, in_metas, kinds, out_metas):
        super().__init__(op, layout, fn, in_metas, kinds, out_metas[0].device, [m.strides for m in out_metas],
                         results=[(m.shape, m.dtype) for m in out_metas])

    def call(self, *args):
        return self.fn(*args)


class LazyOp(Operator):
    """An Operator whose Instances are lazy. `back` is its gradient where it is linear in its one input and saves nothing:
    (inst) -> function of the cotangents and numbers."""
    back = None

    def back_on_host(self, inst):
        """How NumPy does `back`, as `on_host`."""

    def plan(self, inst, needs):
        back = self.back and self.back(inst)
        if back is None:
            return super().plan(inst, needs)
        plan = Plan(inst, needs, nums=tuple(range(len(inst.kinds))))
        plan.vjp = LazyVjp(inst, back, plan)
        return plan


class LazyVjp(LazyOp, VjpOp):
    """The backward of a linear LazyInstance with one input: cotangents and numbers in, its gradient out."""

    def lying(self, metas, strides):
        m = self.inst.in_metas[0]
        return LazyInstance(self, (), self.fn, metas, self.plan_of.vjp_kinds, (meta_of(m.shape, m.dtype, m.device, strides[0]),))

    def on_host(self, inst):
        return self.inst.op.back_on_host(self.inst)


class ViewOp(LazyOp):
    """See the module docstring. `put` and `back` are optional: by default the places that `get` reads are found by
    reading numbered elements, and the gradient comes from `jax.vjp`. `coincide`: elements of the result may be the same
    one of the base."""

    def __init__(self, name, get, place, put=None, host=None, back=None, coincide=False, host_back=None, lie=plain):
        super().__init__(name)
        self.gradient_strides = lie
        self.get, self.place, self.host, self.linear, self.coincide, self.host_back = get, place, host, back, coincide, host_back
        self.view, self._put, self.build_half = self, put, self.build      # bits are as good as numbers

    def grad(self, inst):
        return inst.layout[-1]

    def build(self, layout, metas, kinds):
        m, get, args = metas[0], self.get, layout[:-1]
        shape, dtype, strides = self.place(m, *args)
        out = meta_of(shape, dtype, m.device, strides)

        def fn(base, *nums):
            return [get(base, *args, *nums)]
        return LazyInstance(self, layout, fn, metas, kinds, (out,))

    def batch_strides(self, inst, metas, n):
        m = metas[0]
        return (*[s * m.dtype.itemsize // inst.out.dtype.itemsize for s in m.strides[:n]], *inst.out.strides)

    def on_host(self, inst):
        host, args = self.host, inst.layout[:-1]
        if host is None:
            return None
        return lambda base, *nums: [np.asarray(host(base if base.__class__ is np.ndarray else np.asarray(base), *args, *nums))]

    def back_on_host(self, inst):
        host, args = self.host_back, inst.layout[:-1]
        return host and (lambda ct, *nums: [host(inst, np.asarray(ct), *args, *nums)])

    def back(self, inst):
        if self.linear is not None:
            return lambda ct, *nums: [self.linear(inst, ct, *inst.layout[:-1], *nums)]
        m = inst.in_metas[0]

        def back(ct, *nums):
            pull = jax.vjp(lambda x: inst.fn(x, *nums)[0], jnp.zeros(m.shape, m.dtype))[1]
            return [conj(pull(conj(ct))[0])]
        return back

    def put(self, inst, base, value, nums):
        """`base` with the elements that the view sees replaced by `value`."""
        if self._put is not None:
            return self._put(inst, base, value, *inst.layout[:-1], *nums)
        where = inst.fn(jnp.arange(base.size).reshape(base.shape), *nums)[0]
        return base.ravel().at[as_written(inst.out, where)].set(as_written(inst.out, value)).reshape(base.shape)


class ViewsOp(LazyOp):
    """Several views of one base that cover it. `parts(meta, *args)` lists the slice specs; `join` puts cotangents together."""
    gradient_strides = staticmethod(plain)

    def __init__(self, name, parts, join):
        super().__init__(name)
        self.parts, self.join, self.build_half = parts, join, self.build

    def grad(self, inst):
        return inst.layout[-1]

    def build(self, layout, metas, kinds):
        m = metas[0]
        each = tuple(slice_op.resolve((spec, layout[-1]), metas, "") for spec in self.parts(m, *layout[:-1]))

        def fn(base):
            return [i.fn(base)[0] for i in each]
        inst = LazyInstance(self, layout, fn, metas, "", tuple(i.out for i in each))
        inst.out = inst.out_metas                  # a list of results even when there is one
        inst.info = each
        return inst

    def on_host(self, inst):
        each = [i.interpreted() for i in inst.info]
        return lambda base: [f(base)[0] for f in each]

    def back(self, inst):
        return lambda *cts: [self.join(cts, *inst.layout[:-1])]


# -- slicing: one operator for a whole basic index ----------------------------------------------------------------------
SELECT, SLICE, NEW = 0, 1, 2


def _full_shape(dims):
    return [1 if e[0] == SELECT else e[2] for e in dims]


def _spans(dims):
    return [1 if e[0] == SELECT else (e[2] - 1) * e[3] + 1 if e[2] else 0 for e in dims]


def _starts(dims, nums):
    it = iter(nums)
    return [next(it) if e[1] is None else e[1] for e in dims]


def _get_slice(base, spec, *nums):
    """spec: one (kind, start, length, step) for each dimension, and NEW entries; start None: the next run-time number."""
    dims = [e for e in spec if e[0] != NEW]
    starts, spans, steps = _starts(dims, nums), _spans(dims), [e[3] for e in dims]
    if nums:
        out = jax.lax.dynamic_slice(base, [jnp.asarray(s, jnp.int64) for s in starts], spans)
        if any(s != 1 for s in steps):
            out = jax.lax.slice(out, [0] * base.ndim, out.shape, steps)
    else:
        out = jax.lax.slice(base, starts, [s + n for s, n in zip(starts, spans)], steps)
    return out.reshape(_slice_shape(spec))


def _host_index(spec, nums):
    it = iter(nums)
    index = []
    for e in spec:
        if e is ...:
            index.append(e)
            continue
        kind, start, length, step = e
        if kind == NEW:
            index.append(None)
            continue
        if start is None:
            start = int(next(it))
        index.append(start if kind == SELECT else slice(start, start + max((length - 1) * step + 1, 0), step))
    return tuple(index)


def _slice_shape(spec):
    return tuple([1 if e[0] == NEW else e[2] for e in spec if e[0] != SELECT])


def _place_slice(m, spec):
    strides, d = [], 0
    for kind, _, length, step in spec:
        if kind == NEW:
            strides.append(m.strides[d] * m.shape[d] if d < m.ndim else 1)
            continue
        if kind == SLICE:
            strides.append(m.strides[d] * step)
        d += 1
    return _slice_shape(spec), m.dtype, tuple(strides)


def _put_slice(inst, base, value, spec, *nums):
    dims = [e for e in spec if e[0] != NEW]
    full = value.reshape(_full_shape(dims))
    if not full.size:
        return base
    at = [jnp.asarray(s, jnp.int64) for s in _starts(dims, nums)]
    if any(e[3] != 1 for e in dims):               # between the written elements the old ones stay
        gaps = [(0, 0, e[3] - 1) for e in dims]
        window = jax.lax.dynamic_slice(base, at, _spans(dims))
        hit = jax.lax.pad(jnp.ones(full.shape, bool), False, gaps)
        full = jnp.where(hit, jax.lax.pad(full, _zero(full), gaps), window)
    if full.shape == base.shape:
        return full
    return jax.lax.dynamic_update_slice(base, full, at)


def _back_slice(inst, ct, spec, *nums):
    m = inst.in_metas[0]
    dims = [e for e in spec if e[0] != NEW]
    full = ct.reshape(_full_shape(dims))
    if not full.size:
        return jnp.zeros(m.shape, m.dtype)
    if not nums:
        return jax.lax.pad(full, _zero(full), [(e[1], n - e[1] - k, e[3] - 1) for e, n, k in zip(dims, m.shape, _spans(dims))])
    if any(e[3] != 1 for e in dims):
        full = jax.lax.pad(full, _zero(full), [(0, 0, e[3] - 1) for e in dims])
    return jax.lax.dynamic_update_slice(jnp.zeros(m.shape, m.dtype), full, [jnp.asarray(s, jnp.int64) for s in _starts(dims, nums)])


def _zero(x):
    return jnp.zeros((), x.dtype)


def _index_of(spec, kinds):
    """A function of the run-time numbers that gives NumPy's index for `spec`."""
    index = _host_index(spec, (0,) * len(kinds))
    if not kinds:
        return lambda nums: index
    open_ = [(k, index[k].stop if e[0] == SLICE else None, e[3]) for k, e in enumerate(spec) if e is not ... and e[1] is None]

    def at(nums):
        made = list(index)
        for (k, span, step), start in zip(open_, nums):
            start = int(start)
            made[k] = start if span is None else slice(start, start + span, step)
        return tuple(made)
    return at


class _SliceOp(ViewOp):
    """A whole basic index."""

    def on_host(self, inst):
        index = _index_of((*inst.layout[0], ...), inst.kinds)          # an array, also of one element
        if inst.kinds:
            return lambda base, *nums: [(base if base.__class__ is np.ndarray else np.asarray(base))[index(nums)]]
        index = index(())
        return lambda base: [(base if base.__class__ is np.ndarray else np.asarray(base))[index]]

    def back_on_host(self, inst):
        m, index = inst.in_metas[0], _index_of(inst.layout[0], inst.kinds)

        def back(ct, *nums):
            out = np.zeros(m.shape, m.dtype)
            out[index(nums)] = ct
            return [out]
        return back


def _lie_slice(inst, plan, saved, cts):
    """What only adds dimensions is undone by a view; all else is written into zeros, a slice that is the whole dimension too."""
    m, spec = inst.in_metas[0], inst.layout[0]
    if inst.kinds or inst.layout[-1] == "SliceBackward0" or [e for e in spec if e[0] != NEW] != [whole(n) for n in m.shape]:
        return (None,)
    return (tuple([s for s, e in zip(cts[0].strides, spec) if e[0] != NEW]),)


slice_op = _SliceOp("slice", _get_slice, _place_slice, _put_slice, back=_back_slice, lie=_lie_slice)


class SlicePut(LazyOp):
    """The base with a basic index of it replaced: by a value, broadcast and cast, or by a number. layout: (spec, kind of number).
    No gradient goes through it: where one is wanted, the write goes through the view."""
    name = "slice_put"

    def build(self, layout, metas, kinds):
        spec, number = layout
        m = metas[0]
        shape = _slice_shape(spec)
        part = slice_op.resolve((spec, None), metas[:1], "")
        packed = 0 if number is None else 2 if number == "complex" else 1
        given = len(kinds) - packed

        def fn(base, *rest):
            if number is None:
                value, starts = rest[0], rest[1:]
            else:
                starts, value = rest[:given], rest[given:]
                value = jax.lax.complex(*value) if packed == 2 else value[0] != 0 if number == "bool" else value[0]
            value = jnp.broadcast_to(cast(jnp.asarray(value), base.dtype), shape)
            return [_put_slice(part, base, value, spec, *starts)]
        return LazyInstance(self, layout, fn, metas, kinds, (m,))

    def on_host(self, inst):
        put = self.over_host(inst)
        return put and (lambda base, *rest: put(np.array(base), *rest))

    def over_host(self, inst):
        spec, number = inst.layout
        m, n = inst.in_metas[0], len(inst.in_metas)
        if number == "complex" or m.dtype.kind == "V" or n == 2 and inst.in_metas[1].dtype.kind == "c" and m.dtype.kind != "c":
            return None
        given = len(inst.kinds) - (number is not None)
        index, same = _index_of(spec, inst.kinds[:given]), n == 2 and inst.in_metas[1].dtype == m.dtype

        def put(base, *rest):
            starts, value = (rest[1:], rest[0]) if number is None else (rest[:given], rest[given])
            if number is not None and m.dtype == np.bool_:
                value = value != 0
            base[index(starts)] = value if same else np.asarray(value).astype(m.dtype)
            return [base]
        return put


slice_put = SlicePut()


def whole(n):
    """The slice entry for a dimension of size n that stays."""
    return (SLICE, 0, n, 1)


def _split_parts(m, dim, sizes):
    at, out = 0, []
    around = [whole(n) for n in m.shape]
    for n in sizes:
        out.append(tuple(around[:dim] + [(SLICE, at, n, 1)] + around[dim + 1:]))
        at += n
    return out


def _unbind_parts(m, dim):
    around = [whole(n) for n in m.shape]
    return [tuple(around[:dim] + [(SELECT, k, 0, 1)] + around[dim + 1:]) for k in range(m.shape[dim])]


split = ViewsOp("split", _split_parts, lambda cts, dim, sizes: jnp.concatenate(cts, dim))
unbind = ViewsOp("unbind", _unbind_parts, lambda cts, dim: jnp.stack(cts, dim))


# -- permutations and reshapes -------------------------------------------------------------------------------------------
permute = ViewOp(
    "permute", lambda x, perm: jnp.transpose(x, perm),
    lambda m, perm: (tuple([m.shape[p] for p in perm]), m.dtype, tuple([m.strides[p] for p in perm])),
    lambda inst, x, v, perm: jnp.transpose(v, np.argsort(perm)),
    lambda x, perm: x.transpose(perm),
    lambda inst, ct, perm: jnp.transpose(ct, np.argsort(perm)),
    host_back=lambda inst, ct, perm: ct.transpose(np.argsort(perm)),
    lie=lambda inst, plan, saved, cts: (tuple([cts[0].strides[p] for p in np.argsort(inst.layout[0])]),))
reshape = ViewOp(
    "reshape", lambda x, shape, strides: jnp.reshape(x, shape),
    lambda m, shape, strides: (shape, m.dtype, strides),
    lambda inst, x, v, shape, strides: jnp.reshape(v, x.shape),
    lambda x, shape, strides: reshaped(x, shape),
    lambda inst, ct, shape, strides: jnp.reshape(ct, inst.in_metas[0].shape),
    host_back=lambda inst, ct, shape, strides: reshaped(ct, inst.in_metas[0].shape),
    lie=lambda inst, plan, saved, cts: (view_strides(cts[0], inst.in_metas[0].shape),))


def _put_expand(inst, base, value, shape):
    """Several elements of the view may be one of the base: the first one wins."""
    at = [0] * (len(shape) - base.ndim) + [0] * base.ndim
    own = [1] * (len(shape) - base.ndim) + list(base.shape)
    return jax.lax.slice(value, at, own).reshape(base.shape) if value.size else base


def _back_expand(inst, ct, shape):
    m = inst.in_metas[0]
    lead = len(shape) - m.ndim
    axes = tuple(range(lead)) + tuple(d + lead for d, n in enumerate(m.shape) if n == 1 and shape[d + lead] != 1)
    if not axes:
        return ct.reshape(m.shape)
    wide = ct.astype(jnp.float32) if ct.dtype in (jnp.bfloat16, jnp.float16) else ct
    return jnp.sum(wide, axes).reshape(m.shape).astype(ct.dtype)


def expand_strides(m, shape):
    """Strides of `m` expanded to `shape`, as torch counts them."""
    if not m.ndim:
        return (0,) * len(shape)
    lead = len(shape) - m.ndim
    out = [0] * len(shape)
    for d in range(len(shape) - 1, -1, -1):
        size = m.shape[d - lead] if d >= lead else 1
        stride = m.strides[d - lead] if d >= lead else shape[d + 1] * out[d + 1]
        out[d] = stride if size == shape[d] else 0
    return tuple(out)


@functools.lru_cache(maxsize=512)
def _spread_strides(old, new, itemsize):
    strides, step = [0] * len(new), itemsize
    for k in range(1, len(old) + 1):
        if old[-k] != 1 or new[-k] == 1:
            strides[-k] = step
        step *= old[-k]
    return tuple(strides)


def _spread(x, shape):
    """np.broadcast_to, in a fifth of its time where elements lie one after the other."""
    if not x.flags.c_contiguous or not x.size:
        return np.broadcast_to(x, shape)
    out = np.ndarray(shape, x.dtype, x, 0, _spread_strides(x.shape, shape, x.itemsize))
    out.flags.writeable = False
    return out


expand = ViewOp("expand", lambda x, shape: jnp.broadcast_to(x, shape), lambda m, shape: (shape, m.dtype, expand_strides(m, shape)),
                _put_expand, _spread, _back_expand,
                lie=lambda inst, plan, saved, cts: (cts[0].strides if inst.in_metas[0].shape == cts[0].shape else None,))

def as_it_is(inst, plan, saved, cts):
    return (cts[0].strides,)


# the same elements in the same places: alias, and squeezed or detached forms of it
alias = ViewOp("alias", lambda x: x, lambda m: (m.shape, m.dtype, m.strides), lambda inst, x, v: v, lambda x: x, lambda inst, ct: ct,
               host_back=lambda inst, ct: ct, lie=as_it_is)


def view_strides(meta, shape):
    """Strides with which `meta`'s memory can be seen as `shape`; None if it can't."""
    if meta.numel == 0:
        return meta.strides if meta.shape == shape else contiguous_strides(shape)
    if not meta.ndim:
        return (1,) * len(shape)
    if meta.contiguous and 1 not in meta.shape:
        return contiguous_strides(shape)
    out = [0] * len(shape)
    d = len(shape) - 1
    base = meta.strides[-1]
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
def _place_diagonal(m, offset, d1, d2):
    n1, n2 = m.shape[d1], m.shape[d2]
    count = max(min(n1, n2 - offset) if offset >= 0 else min(n1 + offset, n2), 0)
    rest = [d for d in range(m.ndim) if d not in (d1, d2)]
    return tuple([m.shape[d] for d in rest] + [count]), m.dtype, tuple([m.strides[d] for d in rest] + [m.strides[d1] + m.strides[d2]])


def _put_diagonal(inst, base, v, offset, d1, d2):
    if not v.size:
        return base
    moved = jnp.moveaxis(base, (d1, d2), (-2, -1))
    rows, columns = moved.shape[-2:]
    first = max(-offset, 0)
    lines = jax.lax.pad(v, _zero(v), [(0, 0, 0)] * (v.ndim - 1) + [(first, rows - first - v.shape[-1], 0)])
    hit = jnp.arange(rows)[:, None] + offset == jnp.arange(columns)[None, :]
    return jnp.moveaxis(jnp.where(hit, lines[..., None], moved), (-2, -1), (d1, d2))


def _back_diagonal(inst, ct, *args):
    m = inst.in_metas[0]
    return _put_diagonal(inst, jnp.zeros(m.shape, m.dtype), ct, *args)


def _host_back_diagonal(inst, ct, *args):
    m = inst.in_metas[0]
    out = np.zeros(m.shape, m.held)
    seen = np.diagonal(out, *args)
    seen.flags.writeable = True                # NumPy's precaution: what it sees is ours
    seen[...] = ct
    return out


diagonal = ViewOp("diagonal", lambda x, offset, d1, d2: jnp.diagonal(x, offset, d1, d2), _place_diagonal, _put_diagonal,
                  lambda x, offset, d1, d2: np.diagonal(x, offset, d1, d2), _back_diagonal, host_back=_host_back_diagonal)


def _get_unfold(x, dim, size, step):
    if not x.ndim:
        return x.reshape(1)[:size]
    count = (x.shape[dim] - size) // step + 1
    if size <= 64:                                 # one strided slice for each place in the window
        slices = [jax.lax.slice_in_dim(x, j, j + (count - 1) * step + 1, step, dim) for j in range(size)]
        return jnp.stack(slices, -1) if slices else jnp.zeros(x.shape[:dim] + (count,) + x.shape[dim + 1:] + (0,), x.dtype)
    at = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    return jnp.moveaxis(jnp.take(x, jnp.asarray(at), axis=dim), dim + 1, -1)


def _place_unfold(m, dim, size, step):
    if not m.ndim:
        return (size,), m.dtype, (1,)
    shape, strides = list(m.shape), list(m.strides)
    inner = strides[dim]
    strides[dim] = inner * step
    shape[dim] = (shape[dim] - size) // step + 1
    return tuple(shape) + (size,), m.dtype, tuple(strides) + (inner,)


def _host_unfold(x, dim, size, step):
    if not x.ndim:
        return x.reshape(1)[:size]
    return np.lib.stride_tricks.sliding_window_view(x, size, dim)[(slice(None),) * dim + (slice(None, None, step),)]


unfold = ViewOp("unfold", _get_unfold, _place_unfold, host=_host_unfold, coincide=True)


# what names the nodes of their gradients
_TURNED = {"UnsqueezeBackward0": "SqueezeBackward1", "SqueezeBackward0": "ViewBackward0", "SqueezeBackward1": "UnsqueezeBackward0",
           "UnsafeViewBackward0": "ViewBackward0"}
permute.grad_back = True
reshape.grad_back = lambda inst, _: _TURNED.get(inst.grad_fn_name, inst.grad_fn_name)
slice_op.grad_back = diagonal.grad_back = lambda inst, _: _TURNED.get(inst.grad_fn_name) or inst.grad_fn_name.rstrip("01") + "Backward0"
