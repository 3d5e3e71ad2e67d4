"""Joining tensors: one after the other, side by side, along a diagonal, broadcast together, and as the axes of a grid."""
from __future__ import annotations

import itertools

import numpy as np

from ...engine import context
from ...ops import shape as S
from ...ops.layout import broadcast_shapes as common
from ...ops.registry import T
from .bind import FUNCTIONS, function, type_name
from ..core.dispatch import apply, apply2
from ..core.elements import followed
from ..core.handle import TensorBase, meta
from ..core.write import needs_grad
from .picking import FEW, at_hand, at_once
from .views import expanded, integer, reshaped, unsqueezed, view, warn_once


def _tensors(xs, name):
    if not isinstance(xs, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(xs)}")
    for x in xs:
        if not isinstance(x, TensorBase):
            k = next(k for k, y in enumerate(xs) if y is x)
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type_name(x)}")
    return xs


def _some(xs, name):
    if not _tensors(xs, name):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return xs


_TWO, _MANY = (T, T), 8
_AT_ONCE = {S.cat: np.concatenate, S.stack: np.stack}


def join(op, xs, dim):
    if len(xs) == 2:
        return apply2(op, xs[0], xs[1], (_TWO, dim))
    found = _joined_now(op, xs, dim) if len(xs) >= _MANY else None
    return apply(op, list(xs), ((T,) * len(xs), dim)) if found is None else found


def _joined_now(op, xs, dim):
    """`join` of many small arrays that NumPy has at hand, without a record, else None. Which of them are the same tensor is part of a
    record: samples of a replay buffer would make a new one each time."""
    f, first, size = _AT_ONCE.get(op), meta(xs[0]), 0
    if f is None or first.held is not first.dtype or not -1 - first.ndim < dim < first.ndim + (op is S.stack) or followed():
        return None
    own = dim + first.ndim if dim < 0 else dim
    arrays = []
    for x in xs:
        m = meta(x)
        size += m.numel
        if (m.dtype is not first.dtype or m.device is not first.device or not m.contiguous or size > FEW or not m.ndim
                or m.shape != first.shape and (op is S.stack or m.ndim != first.ndim
                                               or m.shape[:own] + m.shape[own + 1:] != first.shape[:own] + first.shape[own + 1:])
                or context.grad and needs_grad(x)):
            return None
        a = at_hand(x)
        if a is None:
            return None
        arrays.append(a)
    return at_once(lambda *arrays: f(arrays, dim), tuple(arrays), first)


@function("cat", "concat", "concatenate", method=False, out=True)
def cat(tensors, dim=0):
    """Tensors one after the other along an existing dimension."""
    if tensors.__class__ is list and len(tensors) == 2 and dim.__class__ is int:
        a, b = tensors
        if isinstance(a, TensorBase) and isinstance(b, TensorBase):
            return apply2(S.cat, a, b, (_TWO, dim))
    if not _tensors(tensors, "cat"):
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return join(S.cat, tensors, dim if dim.__class__ is int else integer(dim, "cat", "dim"))


@function("stack", method=False, out=True)
def stack(tensors, dim=0):
    """Tensors of one shape along a new dimension."""
    return join(S.stack, _some(tensors, "stack"), integer(dim, "stack", "dim"))


@function("hstack", method=False, out=True)
def hstack(tensors):
    """Tensors side by side: along dimension 1, or 0 for 1-d ones."""
    xs = [atleast_1d(x) for x in _some(tensors, "hstack")]
    return cat(xs, 0 if meta(xs[0]).ndim == 1 else 1)


@function("vstack", "row_stack", method=False, out=True)
def vstack(tensors):
    """Tensors below each other."""
    return cat([atleast_2d(x) for x in _some(tensors, "vstack")], 0)


@function("dstack", method=False, out=True)
def dstack(tensors):
    """Tensors behind each other."""
    return cat([atleast_3d(x) for x in _some(tensors, "dstack")], 2)


@function("column_stack", method=False, out=True)
def column_stack(tensors):
    """1-d tensors as columns, others side by side."""
    return hstack([reshaped(x, (meta(x).numel, 1)) if meta(x).ndim <= 1 else x for x in _some(tensors, "column_stack")])


def _atleast(name, make):
    def f(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], TensorBase):
            return make(tensors[0])
        if len(tensors) == 1:
            tensors = tensors[0]
            if not isinstance(tensors, (list, tuple)):
                raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor or tuple of Tensors, not {type_name(tensors)}")
        return tuple([make(x) for x in _tensors(tensors, name)])
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Tensors with at least {name[8]} dimensions."
    FUNCTIONS[name] = f
    return f


def _make_2d(x):
    n = meta(x).ndim
    return reshaped(x, (1, 1)) if n == 0 else unsqueezed(x, 0) if n == 1 else x


def _make_3d(x):
    n = meta(x).ndim
    if n == 0:
        return reshaped(x, (1, 1, 1))
    return unsqueezed(unsqueezed(x, 0), 2) if n == 1 else unsqueezed(x, 2) if n == 2 else x


atleast_1d = _atleast("atleast_1d", lambda x: x if meta(x).ndim else reshaped(x, (1,)))
atleast_2d = _atleast("atleast_2d", _make_2d)
atleast_3d = _atleast("atleast_3d", _make_3d)


@function("block_diag", method=False)
def block_diag(*tensors):
    """Matrices along the diagonal of one."""
    if not tensors:
        return FUNCTIONS["empty"](1, 0)
    for k, t in enumerate(_tensors(tensors, "block_diag")):
        if t.device != tensors[0].device:
            raise RuntimeError(f"Input tensors must all be on the same device. Input 0 is on device {tensors[0].device} and input {k} is "
                               f"on device {t.device}.")
    return apply(S.block_diag, list(tensors), ((T,) * len(tensors),))


def _list(tensors):
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@function("broadcast_tensors", method=False)
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape."""
    tensors = _tensors(_list(tensors), "broadcast_tensors")
    shape = common([meta(x).shape for x in tensors])
    return tuple([x if meta(x).shape == shape else expanded(x, shape) for x in tensors])


@function("broadcast_shapes", method=False)
def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    from ..core.size import Size
    given = [(s,) if isinstance(s, int) else s for s in shapes]
    shapes = [tuple(s) for s in given]
    out = [1] * max([len(s) for s in shapes], default=0)
    for k, (s, shown) in enumerate(zip(shapes, given)):
        for i in range(-1, -1 - len(s), -1):
            n = s[i]
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if n != 1 and out[i] != n:
                if out[i] != 1:
                    raise RuntimeError(f"Attempting to broadcast a dimension of length {n} at {i}! Mismatching argument at index {k} had "
                                       f"{shown}; but expected shape should be broadcastable to {out}")
                out[i] = n
    return Size(out)


@function("meshgrid", method=False)
def meshgrid(*tensors, indexing=None):
    """Coordinates of a grid from those of its axes."""
    tensors = _list(tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for k, x in enumerate(tensors):
        if not isinstance(x, TensorBase):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type_name(x)}")
    for x, y in zip(tensors, tensors[1:]):
        if meta(x).dtype != meta(y).dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if meta(x).device != meta(y).device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    for x in tensors:
        if meta(x).ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    flip = indexing == "xy" and len(tensors) >= 2
    xs = list(tensors)
    if flip:
        xs[0], xs[1] = xs[1], xs[0]
    shape = tuple([meta(x).numel for x in xs])
    out = []
    for k, x in enumerate(xs):
        own = [1] * len(xs)
        own[k] = shape[k]
        out.append(expanded(view(x, tuple(own)), shape))
    if flip:
        out[0], out[1] = out[1], out[0]
    return tuple(out)


@function("cartesian_prod", method=False)
def cartesian_prod(*tensors):
    """All combinations of the elements of 1-d tensors."""
    tensors = _list(tensors)
    for x in tensors:
        if meta(x).ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(meta(x).shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshaped(g, (meta(g).numel,)) for g in meshgrid(*tensors, indexing="ij")], 1)


@function("combinations")
def combinations(input, r=2, with_replacement=False):
    """Combinations of r elements of a 1-d tensor."""
    m = meta(input)
    if m.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(m.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return FUNCTIONS["empty"](0, dtype=input.dtype, device=input.device)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    at = np.array(list(choose(range(m.shape[0]), r)), np.int64).reshape(-1, r)
    from ..core.tensor import tensor_from
    return stack([FUNCTIONS["index_select"](input, 0, tensor_from(np.ascontiguousarray(at[:, k]), m.device)) for k in range(r)], 1)
