"""Random numbers under vmap: one draw for all examples ("same"), or one for the whole batch ("different")."""
from __future__ import annotations

import functools
import math

from ..autograd.levels import below, innermost_vmap, levels, rebatched, unbatched
from ..engine import context, contiguous_strides, meta_of
from ..tensor.api.out import refuse_drawn
from ..tensor.core.handle import TensorBase
from .generator import check_randomness, refuse_random

_SAME = "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
_IN_PLACE = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is "
             "necessary for your usage, please file an issue with functorch.")

_PROBABILITIES = ("vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
                  "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
                  "Please try to use out-of-place operators instead of inplace bernoulli. If said operator is being called inside the "
                  "PyTorch framework, please file a bug report instead.")


def differing():
    """The vmap whose examples are to get different numbers, if that is what runs."""
    level = innermost_vmap() if "transform" in context.modes else None
    return level if level is not None and level.randomness == "different" else None


def for_each(level, make, shape):
    """What `make(shape of the batch)` draws outside of the vmap, as its examples of this shape see it."""
    with below(level):
        t = make((level.size, *shape))
    return rebatched([t], level)[0]


def whole(t):
    """The Meta of the batch, that first, of which `t` is an example where the innermost vmap was given it; else None."""
    level = differing()
    k = next((k for k, i in enumerate(level.ins) if i is t), None) if level is not None else None
    if k is None:
        return None
    m, d = level.given[k]._ts_meta, level.dims[k]
    first, *others = [(*sizes[d:d + 1], *sizes[:d], *sizes[d + 1:]) for sizes in (m.shape, m.strides)]
    return meta_of(first, m.dtype, m.device, *others)


def batch_of(t):
    """The dimension along which the innermost vmap batches `t`, None where it does not."""
    found = unbatched([t])
    return found and found[1][0]


def to_refill(t, p=None):
    """How `t` is overwritten with random numbers under vmap, by probabilities `p` where these are a tensor: (the vmaps whose examples get
    different ones, the outermost first; the shape of all of them and how they lie; `p` for them; the vmap outside of which they are drawn).
    None outside of a vmap, and where all examples are one tensor. RuntimeError where torch refuses."""
    running = [x for x in levels() if x.kind == "vmap"] if "transform" in context.modes else ()
    own, put, shape, strides, copied = t, [], t._ts_meta.shape, t._ts_meta.strides, False
    rank = len(shape) if p is None else max(len(shape), p.ndim)
    shape, strides = (1,) * (rank - len(shape)) + shape, (0,) * (rank - len(shape)) + strides
    for level in reversed(running):
        refuse_random(level)
        own, step = (None, None) if own is None else _outside(own, level, strides, shape)
        if p is not None:
            p, at = _batched_at(p, level)
            if at is not None and level.randomness == "same":
                raise RuntimeError(_SAME)
            if at is not None and step is None:
                raise RuntimeError(_PROBABILITIES)
            if at is not None:
                p = p.movedim(at, 0)
                p = p.reshape(level.size, *[1] * (len(shape) + 1 - p.ndim), *p.shape[1:])
        if level.randomness == "different":
            if step is None:
                raise RuntimeError(_IN_PLACE)
            shape, strides = (level.size, *shape), (step, *strides)
            put.insert(0, level)
        elif step is not None:                 # torch draws them for a new example, and copies it
            shape = shape if put else t._ts_meta.shape
            own, strides, copied = None, contiguous_strides(shape), True
    return (put, shape, strides, p, running[0]) if put or copied else None


def _batched_at(t, level):
    """(`t` outside of a vmap, the dimension of its batch or None)."""
    with below(level, keep=True):
        (value, _), (at, _) = unbatched([t, level.ins[0]])
    return (t, None) if at is None else (value, at)


def _outside(t, level, strides, shape):
    """(`t` outside of a vmap, the step from one example to the next in memory or None); of arguments and their views, and of what was
    computed: that has its batch first."""
    for i, given, d in zip(level.ins, level.given, level.dims):
        if t._ts_st is i._ts_st:
            return given, given._ts_meta.strides[d]
    value, at = _batched_at(t, level)
    return value, None if at is None else math.prod(shape)


def refilled(found, make):
    """What `make(shape, strides)` draws for the vmaps that `to_refill` found, as an example in the innermost sees it."""
    put, shape, strides, _, outermost = found
    with below(outermost):
        t = make(shape, strides)
    for level in put:
        with below(level, keep=True):
            (t,) = rebatched([t], level)
    return t


def with_batches(f):
    """A function that draws with tensors as its parameters, under vmap: it is called with the whole batch, elementwise or row by row."""
    @functools.wraps(f)
    def drawn(*args, **kwargs):
        if "transform" not in context.modes:
            return f(*args, **kwargs)
        refuse_drawn(kwargs.get("out"))
        level = innermost_vmap()
        at = [k for k, a in enumerate(args) if isinstance(a, TensorBase)]
        if level is None or not at:
            return f(*args, **kwargs)
        check_randomness()
        found = unbatched([args[k] for k in at])
        if found is None or all([d is None for d in found[1]]):
            if level.randomness == "same":
                with below(level):
                    return drawn(*args, **kwargs)
            found = [args[k] for k in at], [None] * len(at)
        elif level.randomness == "same":
            raise RuntimeError(_SAME)
        full, n = list(args), max([args[k].ndim for k in at])
        for k, t, d in zip(at, *found):
            t = t.expand(level.size, *t.shape) if d is None else t.movedim(d, 0)
            full[k] = t.reshape(level.size, *[1] * (n - t.ndim + 1), *t.shape[1:])
        rows = full[0].shape[1:-1] if f.__name__ == "multinomial" else ()
        if rows:                               # a matrix of weights for each example
            full[0] = full[0].reshape(-1, full[0].shape[-1])
        with below(level):
            t = drawn(*full, **kwargs)
        return rebatched([t.reshape(level.size, *rows, t.shape[-1]) if rows else t], level)[0]
    return drawn
