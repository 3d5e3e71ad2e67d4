"""Random numbers under vmap: one draw for all examples ("same"), or one for the whole batch ("different")."""
from __future__ import annotations

import functools

from ..autograd.levels import below, innermost_vmap, rebatched, unbatched
from ..engine import context
from ..tensor.core.handle import TensorBase
from .generator import check_randomness

_SAME = "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
_IN_PLACE = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is "
             "necessary for your usage, please file an issue with functorch.")


def differing():
    """The vmap whose examples are to get different numbers, if that is what runs."""
    level = innermost_vmap() if "transform" in context.modes else None
    return level if level is not None and level.randomness == "different" else None


def for_each(level, make, shape, at=0):
    """What `make(shape of the batch)` draws outside of the vmap, as its examples of this shape see it; the batch has dimension `at`."""
    with below(level):
        t = make((*shape[:at], level.size, *shape[at:])).movedim(at, 0)
    return rebatched([t], level)[0]


def batch_of(t):
    """The dimension along which the innermost vmap batches `t`, None where it does not."""
    found = unbatched([t])
    return found and found[1][0]


def to_refill(t):
    """(vmap, dimension) of the batch of `t` that is to be overwritten with different numbers; RuntimeError where torch refuses, None
    outside of a vmap, and where all examples get the same."""
    level = innermost_vmap() if "transform" in context.modes else None
    if level is None:
        return None
    check_randomness()
    at = batch_of(t)
    if at is None and level.randomness == "different":
        raise RuntimeError(_IN_PLACE)
    return None if at is None or level.randomness == "same" else (level, at)


def with_batches(f):
    """A function that draws with tensors as its parameters, under vmap: it is called with the whole batch, elementwise or row by row."""
    @functools.wraps(f)
    def drawn(*args, **kwargs):
        level = innermost_vmap() if "transform" in context.modes else None
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
