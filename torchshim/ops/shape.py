"""Operators that arrange elements: joining, repeating, mirroring, triangles, diagonals, copies."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ..engine import Instance, Operator, meta_of
from ..engine.interpret import rearranged
from . import promotion as P
from .common import wrap_dim, wrap_dims
from .layout import as_cotangent, broadcast_shapes, channels_last_strides, kept_strides, lies_channels_last
from .casts import cast
from .registry import op


# -- copies ----------------------------------------------------------------------------------------------------------------
CLONE = op("clone.strides(Tensor self, int[]? strides=None) -> Tensor", grad="CloneBackward0", passing=("self",),
           strides=lambda inst, m, strides: strides)(lambda self, strides: self)


COPIED = op("view_copy.own(Tensor self, str name) -> Tensor", grad=lambda inst: inst.layout[1])(lambda self, name: self)


class _To(Operator):
    """Copy to a dtype and layout; layout is (dtype, strides)."""
    name, grad, elementwise = "to", "ToCopyBackward0", True

    def build(self, layout, metas, kinds):
        dtype, strides = layout
        return Instance(self, layout, lambda x: [cast(x, dtype)], metas, "", metas[0].device, (strides,), alike=dtype)

    def gradient_strides(self, inst, plan, saved, cts):
        return as_cotangent(inst, plan, saved, cts)

    def weight(self, inst):
        """One pass, at which NumPy is five times as fast as XLA's CPU code where floats become integers."""
        n = inst.out_metas[0].numel
        return 1, 1, n, -80 * n if inst.in_metas[0].dtype.kind == "f" and inst.out_metas[0].dtype.kind == "i" else 0


TO = _To()

# what torch's reshape makes when it cannot be a view; the memory is the clone's
RESHAPE_COPY = op("unsafe_view.reshape(Tensor self, int[] shape) -> Tensor", grad="UnsafeViewBackward0")(
    lambda self, shape: jnp.reshape(self, shape))


def check_copy(target, src, *_):
    n = max(target.ndim, src.ndim)
    for k in range(n):
        a = target.shape[-1 - k] if k < target.ndim else 1
        b = src.shape[-1 - k] if k < src.ndim else 1
        if a != b and a != 1 and b != 1:
            raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {n - 1 - k}")
    for k in range(n):
        a = target.shape[-1 - k] if k < target.ndim else 1
        b = src.shape[-1 - k] if k < src.ndim else 1
        if (a == 1 and b != 1) or (k >= target.ndim):
            wide = broadcast_shapes([target.shape, src.shape])
            raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(wide)}")


COPY = op("copy.broadcast(Tensor self, Tensor src) -> Tensor", grad="CopyBackwards", check=check_copy, inplace=True)(
    lambda self, src: jnp.broadcast_to(cast(src, self.dtype), self.shape))
FILL = op("fill.Scalar(Tensor self, Scalar value) -> Tensor", grad="FillBackward0",
    strides=lambda inst, m, value: kept_strides(m), inplace=True, inplace_grad="FillBackward2")(
    lambda self, value: jnp.broadcast_to(cast(jnp.asarray(value), self.dtype), self.shape))
FILL_TENSOR = op("fill.Tensor(Tensor self, Tensor value) -> Tensor", grad="FillBackward1",
    strides=lambda inst, m, value: kept_strides(m), inplace=True, inplace_grad="FillBackward3")(
    lambda self, value: jnp.broadcast_to(cast(value, self.dtype), self.shape))
# what `x[...] = number` writes: torch makes a 0-d tensor of the number first
FILL_ITEM = op("fill.Item(Tensor self, Scalar value) -> Tensor", grad="FillBackward3", inplace=True)(FILL.body)
ZERO = op("zero.all(Tensor self) -> Tensor", grad="ZeroBackward0", strides=lambda inst, m: kept_strides(m), inplace=True)(
    lambda self: jnp.zeros(self.shape, self.dtype))


# -- joining ---------------------------------------------------------------------------------------------------------------
def _joined_dtype(metas):
    return P.result_type([m.dtype for m in metas if m.ndim], [m.dtype for m in metas if not m.ndim], ())


def _skipped(m):
    """An empty 1-d tensor joins with anything."""
    return m.shape == (0,)


def _check_cat(tensors, dim):
    for k, m in enumerate(tensors):
        if not m.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
    first = next((m for m in tensors if not _skipped(m)), tensors[0])
    d = None if _skipped(first) else wrap_dim(dim, first.ndim)
    for k, m in enumerate(tensors):
        if _skipped(m):
            continue
        if m.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {m.ndim}")
        for j in range(m.ndim):
            if j != d and m.shape[j] != first.shape[j]:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {d}. Expected size {first.shape[j]} but got size "
                                   f"{m.shape[j]} for tensor number {k} in the list.")


def _cat_strides(inst, tensors, dim):
    """channels_last when all operands are so, else row-major."""
    shape = inst.out_metas[0].shape
    if len(shape) not in (4, 5):
        return None
    like = {lies_channels_last(m) for m in tensors if not _skipped(m)}
    return channels_last_strides(shape) if like == {True} else None


def _cat_results(tensors, dim):
    full = [m for m in tensors if not _skipped(m)]
    if not full:
        return None
    d = wrap_dim(dim, full[0].ndim)
    n = sum([m.shape[d] for m in full])
    return [((*full[0].shape[:d], n, *full[0].shape[d + 1:]), _joined_dtype(tensors))]


def _cat_on_host(inst):
    shapes, out = [None if _skipped(m) else m.shape for m in inst.in_metas], inst.out_metas[0]
    cast = any([m.dtype != out.dtype for m in inst.in_metas])
    return rearranged.concatenated(shapes, out.dtype, wrap_dim(inst.layout[1], out.ndim), cast) if any(shapes) else None


def _moves(primitives, copies=1):
    """`weight` of what only moves elements."""
    return lambda inst: (primitives, primitives, copies * inst.out_metas[0].numel, 0)


def _lie_cat(inst, plan, saved, cts):
    """Each is a piece of the cotangent."""
    return tuple([None if _skipped(inst.in_metas[i]) else cts[0].strides for i in plan.needs])


@op("cat.tensors(Tensor[] tensors, int dim=0) -> Tensor", lie=_lie_cat, grad="CatBackward0", check=_check_cat,
    twice=lambda inst: frozenset([i for i, m in enumerate(inst.in_metas) if _skipped(m)]) or None,
    strides=_cat_strides, results=_cat_results, host=_cat_on_host, weight=_moves(1))
def cat(tensors, dim):
    """Tensors one after the other along an existing dimension."""
    dtype = _joined_dtype(tensors)
    full = [t for t in tensors if not _skipped(t)]
    if not full:                               # torch does not ask where
        full, dim = tensors, 0
    return jnp.concatenate([cast(t, dtype) for t in full], wrap_dim(dim, full[0].ndim))


def _check_stack(tensors, dim):
    wrap_dim(dim, tensors[0].ndim + 1)
    for k, m in enumerate(tensors):
        if m.shape != tensors[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                               f"{list(m.shape)} at entry {k}")


def _stack_results(tensors, dim):
    m, d = tensors[0], wrap_dim(dim, tensors[0].ndim + 1)
    return [((*m.shape[:d], len(tensors), *m.shape[d:]), _joined_dtype(tensors))]


def _stack_strides(inst, tensors, dim):
    """Those of the concatenation whose dimension is then split in two; at the end there is none to split."""
    m, d = tensors[0], wrap_dim(dim, tensors[0].ndim + 1)
    if m.ndim not in (4, 5) or d == m.ndim or not all([lies_channels_last(t) for t in tensors]):
        return None
    strides = list(channels_last_strides((*m.shape[:d], len(tensors) * m.shape[d], *m.shape[d + 1:])))
    return tuple(strides[:d] + [m.shape[d] * strides[d]] + strides[d:])


def _stack_on_host(inst):
    m = inst.in_metas[0]
    return rearranged.stacked(m.shape, inst.out_metas[0].dtype, wrap_dim(inst.layout[1], m.ndim + 1))


def _lie_stack(inst, plan, saved, cts):
    """Likewise, without the new dimension."""
    strides, d = cts[0].strides, wrap_dim(inst.layout[1], cts[0].ndim)
    return (strides[:d] + strides[d + 1:],) * len(plan.needs)


@op("stack.tensors(Tensor[] tensors, int dim=0) -> Tensor", lie=_lie_stack, grad="StackBackward0", check=_check_stack,
    strides=_stack_strides, results=_stack_results, host=_stack_on_host, weight=_moves(1))
def stack(tensors, dim):
    """Tensors of one shape along a new dimension."""
    dtype = _joined_dtype(tensors)
    return jnp.stack([cast(t, dtype) for t in tensors], wrap_dim(dim, tensors[0].ndim + 1))


@op("block_diag.tensors(Tensor[] tensors) -> Tensor", grad="BlockDiagBackward0")
def block_diag(tensors):
    """Matrices along the diagonal of one."""
    for k, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {t.ndim} dimensions")
    dtype = _joined_dtype(tensors)
    mats = [cast(jnp.atleast_2d(t), dtype) for t in tensors]
    rows, columns = [sum(m.shape[k] for m in mats) for k in (0, 1)]
    out, r, c = jnp.zeros((rows, columns), dtype), 0, 0
    for m in mats:
        out = jax.lax.dynamic_update_slice(out, m, (r, c))
        r, c = r + m.shape[0], c + m.shape[1]
    return out


# -- repeating and mirroring --------------------------------------------------------------------------------------------------
def _check_repeat(m, repeats):
    if len(repeats) < m.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    full = (1,) * (len(repeats) - m.ndim) + m.shape
    for n, r in zip(full, repeats):
        if r < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n * r}: {[n * r for n, r in zip(full, repeats)]}")


@op("repeat.sizes(Tensor self, int[] repeats) -> Tensor", plain_gradients=True, grad="RepeatBackward0", check=_check_repeat,
    sizes=("repeats",), apart=1)
def repeat(self, repeats):
    """The tensor laid side by side."""
    return jnp.tile(self, repeats)


@op("flip.dims(Tensor self, int[] dims) -> Tensor", lie=as_cotangent, grad="FlipBackward0", grad_back=True,
    strides=lambda inst, m, dims: kept_strides(m))
def flip(self, dims):
    """The elements of some dimensions in reverse order."""
    axes = wrap_dims(dims, self.ndim) if dims else ()
    return jnp.flip(self, axes) if axes else self


def _check_roll(m, shifts, dims):
    shifts = (shifts,) if isinstance(shifts, int) else shifts
    dims = (dims,) if isinstance(dims, int) else dims
    if not shifts:
        raise RuntimeError("`shifts` required")
    if dims and len(shifts) != len(dims) or not dims and len(shifts) != 1:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not m.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")


def _roll_strides(inst, m, shifts, dims):
    """Along dimensions torch puts two pieces together, which keeps channels_last."""
    along = isinstance(dims, int) or bool(dims)
    return channels_last_strides(m.shape) if along and lies_channels_last(m) else None


def _roll_plan(m, shifts, dims):
    """(shifts, dims) of a roll as tuples."""
    return (shifts if shifts.__class__ is tuple else (shifts,),
            tuple([wrap_dim(d, m.ndim) for d in ((dims,) if isinstance(dims, int) else dims or ())]) if m.numel else ())


def _roll_results(m, shifts, dims):
    _roll_plan(m, shifts, dims)
    return [(m.shape, m.dtype)]


def _roll_on_host(inst):
    m = inst.in_metas[0]
    return rearranged.rolled(m.shape, *_roll_plan(m, *inst.layout[1:]))


@op("roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", plain_gradients=True, grad="RollBackward0", grad_back=True,
    check=_check_roll,
    sizes=("shifts",), apart=0, strides=_roll_strides, results=_roll_results, host=_roll_on_host, weight=_moves(3, 2), out=False)
def roll(self, shifts, dims):
    """The elements moved on, those at the end back to the beginning."""
    shifts = shifts if shifts.__class__ is tuple else (shifts,)
    dims = (dims,) if isinstance(dims, int) else dims
    if dims and not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if not self.size:
        return self
    if not dims:
        return jnp.roll(self.ravel(), shifts[0]).reshape(self.shape)
    return jnp.roll(self, shifts, [wrap_dim(d, self.ndim) for d in dims])


def _check_rot90(m, k, dims):
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if m.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {m.ndim}")
    if wrap_dim(dims[0], m.ndim) == wrap_dim(dims[1], m.ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")


def _rot90_strides(inst, m, k, dims):
    if k % 2 == 0:
        return kept_strides(m) if k % 4 else None
    a, b = dims[0] % m.ndim, dims[1] % m.ndim
    strides = list(kept_strides(m) or meta_of(m.shape, m.dtype, m.device).strides)
    strides[a], strides[b] = strides[b], strides[a]
    return tuple(strides)


@op("rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", grad="Rot90Backward0", check=_check_rot90, strides=_rot90_strides, out=False)
def rot90(self, k, dims):
    """Rotated by k * 90 degrees in the plane of two dimensions."""
    return jnp.rot90(self, k, dims)


# -- triangles and diagonals --------------------------------------------------------------------------------------------------
def _triangle(name):
    def check(m, diagonal):
        if m.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return check


def _cut(lower):
    """results, host and weight of a triangle's declaration."""
    def host(inst):
        m = inst.in_metas[0]
        return rearranged.triangle(m.shape, m.dtype, inst.layout[1], lower)
    return dict(results=lambda m, diagonal: [(m.shape, m.dtype)], host=host, weight=_moves(6, 6))


@op("tril(Tensor self, int diagonal=0) -> Tensor", plain_gradients=True, grad="TrilBackward0", grad_back=True, inplace=True,
    check=_triangle("tril"),
    sizes=("diagonal",), apart=0, **_cut(True))
def tril(self, diagonal):
    """The lower triangle of the last two dimensions, zeros elsewhere."""
    return jnp.where(_below(self, diagonal), self, jnp.zeros((), self.dtype))


@op("triu(Tensor self, int diagonal=0) -> Tensor", plain_gradients=True, grad="TriuBackward0", grad_back=True, inplace=True,
    check=_triangle("triu"),
    sizes=("diagonal",), apart=0, **_cut(False))
def triu(self, diagonal):
    """The upper triangle of the last two dimensions, zeros elsewhere."""
    return jnp.where(_below(self, diagonal - 1), jnp.zeros((), self.dtype), self)


def _below(x, k):
    rows, columns = x.shape[-2:]
    return jax.lax.broadcasted_iota(jnp.int32, (rows, columns), 1) <= jax.lax.broadcasted_iota(jnp.int32, (rows, columns), 0) + k


def _diagonal(self, offset, dim1, dim2):
    x = jnp.moveaxis(self, (wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)), (-2, -1))
    rows, columns = x.shape[-2:]
    down, right = (0, offset) if offset >= 0 else (-offset, 0)
    n = max(min(rows - down, columns - right), 0)
    at = jax.lax.iota(jnp.int64, n)
    return x.at[..., at + down, at + right].get(mode="clip")


DIAGONAL_COPY = op("diagonal_copy.own(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    grad="DiagonalBackward0_copy", sizes=("offset",), apart=0)(_diagonal)


def _check_diag_embed(m, offset, dim1, dim2):
    a, b = wrap_dim(dim1, m.ndim + 1), wrap_dim(dim2, m.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")


@op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", grad="DiagEmbedBackward0", check=_check_diag_embed,
    sizes=("offset",), apart=0, out=False)
def diag_embed(self, offset, dim1, dim2):
    """The last dimension along the diagonal of two new ones."""
    n = self.shape[-1] + max(offset, -offset)
    a, b = wrap_dim(dim1, self.ndim + 1), wrap_dim(dim2, self.ndim + 1)
    lead = max(-offset, 0)
    lines = jax.lax.pad(self, jnp.zeros((), self.dtype), [(0, 0, 0)] * (self.ndim - 1) + [(lead, n - lead - self.shape[-1], 0)])
    hit = jnp.arange(n)[:, None] + offset == jnp.arange(n)[None, :]
    out = jnp.where(hit, lines[..., None], jnp.zeros((), self.dtype))
    return jnp.moveaxis(out, (-2, -1), (a, b))

