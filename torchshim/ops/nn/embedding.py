"""Rows of a table by number, and one-hot vectors."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .. import promotion as P
from ..common import real_alone
from ..loops import searchsorted
from ..registry import op


@jax.custom_jvp
def _no_grad_where(x, stop):
    return x


@_no_grad_where.defjvp
def _stopped(primals, tangents):
    x, stop = primals
    return x, jnp.where(stop, jnp.zeros((), x.dtype), tangents[0])


@jax.custom_jvp
def _mean(total, count):
    """A sum over how many there were. torch multiplies the gradient by the reciprocal."""
    return total / count


@_mean.defjvp
def _mean_jvp(primals, tangents):
    return _mean(*primals), tangents[0] * (1 / primals[1])


@jax.custom_jvp
def _grad_over(x, count):
    return x


@_grad_over.defjvp
def _divided(primals, tangents):
    x, count = primals
    return x, tangents[0] / count


def _check(weight, indices, padding_idx, scale_grad_by_freq):
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype.name not in ("int32", "int64"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                           f"torch.{P.c_name(indices.dtype)}Tensor instead (while checking arguments for embedding)")


@op("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    grad="EmbeddingBackward0", plain_gradients=True, grad_for=real_alone, check=lambda w, i, p, s, sparse: _check(w, i, p, s), method=False,
    function=False)
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """weight[indices]; the row padding_idx gets no gradient. scale_grad_by_freq: gradients over the number of uses."""
    rows = jnp.take(weight, indices, 0, mode="clip") if weight.shape[0] else jnp.zeros(indices.shape + weight.shape[1:], weight.dtype)
    if scale_grad_by_freq:
        flat = indices.ravel()
        count = jnp.zeros(weight.shape[0], jnp.int32).at[flat].add(1)[indices].astype(weight.dtype)
        rows = _grad_over(rows, count[..., None])
    if padding_idx >= 0:
        rows = _no_grad_where(rows, (indices == padding_idx)[..., None])
    return rows


@op("one_hot_of(Tensor self, int num_classes) -> Tensor", method=False, function=False, sizes=("num_classes",), apart=1)
def one_hot(self, num_classes):
    """1 at each number's place in a new last dimension."""
    return (self[..., None] == jnp.arange(num_classes, dtype=self.dtype)).astype(jnp.int64)


@op("renormed_rows(Tensor weight, Tensor indices, float max_norm, float norm_type) -> Tensor", method=False, function=False)
def renormed_rows(weight, indices, max_norm, norm_type):
    """The rows that `indices` name scaled down to max_norm, where they are longer."""
    w = weight.astype(jnp.promote_types(weight.dtype, jnp.float32))
    a, p = jnp.abs(w), norm_type.astype(w.dtype)
    norm = jnp.where(jnp.isinf(p), jnp.max(a, 1, initial=0), jnp.sum(a ** p, 1) ** (1 / p))
    norm = jnp.where(p == 0, jnp.sum(a != 0, 1).astype(w.dtype), norm)
    m = max_norm.astype(w.dtype)
    used = jnp.zeros(weight.shape[0], bool).at[indices.ravel()].set(True)
    scale = jnp.where(used & (norm > m), m / (norm + 1e-7), jnp.ones((), w.dtype))
    return (w * scale[:, None]).astype(weight.dtype)


def _largest(rows, kept, bag, bags):
    """Where, among all rows, the first of the largest elements of each bag lies; behind all where the bag keeps none. A nan that comes
    first stays, as nothing is larger; a later one is larger than nothing."""
    at = jnp.arange(rows.shape[0])[:, None]
    first = lambda there: -jnp.maximum(jax.ops.segment_max(jnp.where(there, -at, -rows.shape[0]), bag, bags), -rows.shape[0])
    kept = jnp.broadcast_to(kept[:, None], rows.shape)
    begins = at == first(kept)[bag]
    none = jnp.isnan(rows)
    top = jax.ops.segment_max(jnp.where(kept & ~none, rows, -jnp.inf), bag, bags)
    nans = jax.ops.segment_max((begins & none).astype(jnp.int32), bag, bags) > 0
    return first(kept & jnp.where(nans[bag], begins, rows == top[bag]))


@op("embedding_bag_of(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, str mode, int padding_idx, int bags, "
    "bool scale_grad_by_freq) -> Tensor", grad="EmbeddingBagBackward0", method=False, function=False, pushes="_embedding_bag", plain_gradients=True,
    seen=lambda inst: {0: None} if inst.layout[4] == "max" else {},
    saves=lambda inst, wrt: (~0, ~1, ~2, ~3)[:len(inst.in_metas)] if len(inst.in_metas) > 3 and 3 in wrt else None,
    twice=lambda inst: "compared" if inst.layout[4] == "max" else None)
def embedding_bag(weight, indices, offsets, per_sample_weights, mode, padding_idx, bags, scale_grad_by_freq):
    """Bags of rows as their sum, mean or maximum; bag b begins at offsets[b]. An empty bag gives zeros."""
    at = jnp.arange(indices.shape[0])
    bag = searchsorted(offsets[:bags].astype(at.dtype), at, side="right") - 1
    rows = embedding.core(weight, indices, padding_idx, False, False)
    if scale_grad_by_freq and at.size:
        # torch's kernel: the n-th of the different rows counts as often as the row that the n-th smallest index names
        count = jnp.zeros(weight.shape[0], jnp.int32).at[indices].add(1)
        nth = (jnp.cumsum(count > 0) - 1)[indices]
        rows = _grad_over(rows, count[jnp.sort(indices)[nth]].astype(rows.dtype)[:, None])
    rows = rows.astype(jnp.promote_types(rows.dtype, jnp.float32))
    kept = (indices != padding_idx) & (bag >= 0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.astype(rows.dtype)[:, None]
    if mode == "max":
        place = _largest(jax.lax.stop_gradient(rows), kept, bag, bags)
        out = jnp.where(place < at.size, jnp.take_along_axis(rows, jnp.minimum(place, at.size - 1), 0), 0) if at.size else jnp.zeros(
            (bags, rows.shape[1]), rows.dtype)
    else:
        out = jax.ops.segment_sum(jnp.where(kept[:, None], rows, 0), bag, bags)
        if mode == "mean":
            count = jax.ops.segment_sum(kept.astype(rows.dtype), bag, bags)
            out = _mean(out, jnp.maximum(count, 1)[:, None])
    return out.astype(weight.dtype)


embedding_bag.twice_refuses = lambda inst, needs: RuntimeError(
    "derivative for aten::_embedding_bag_per_sample_weights_backward is not implemented") if 3 in inst.op.plan_of.needs else NotImplementedError(
    "the derivative for '_embedding_bag_backward' is not implemented.")
