"""Elementwise functions of many elements, a part for each processor.

The parts are blocks of about equal length, never short ones: what a function does may depend on how many elements it sees.
"""
from __future__ import annotations

import numpy as np

from .. import pool
from .rules import Spec


def writes(fn, passes=1):
    """Mark a function that computes into `out` where it is given and returns it, as NumPy's ufuncs do, in so many passes."""
    fn.into = passes
    return fn


def alone(fn):
    """Mark a function that goes through arrays by blocks which are too short for threads that wait for Python's lock."""
    fn.alone = True
    return fn


class Shared:
    """`fn` of contiguous arrays of one shape and of 0-d ones by several threads; of others as it is."""
    __slots__ = ("fn", "dtype", "into", "whole", "first")

    def __init__(self, fn, ins, out):
        self.fn, self.dtype, self.into = fn, out.dtype, 1 if isinstance(fn, np.ufunc) else getattr(fn, "into", 0)
        self.whole = [s.shape == out.shape for s in ins]
        self.first = self.whole.index(True)

    def __call__(self, *args, out=None):
        fn, into = self.fn, self.into
        if pool.most() == 1 or not all([a.flags.c_contiguous for a, whole in zip(args, self.whole) if whole]):
            return fn(*args) if out is None else fn(*args, out=out)
        made = np.empty(args[self.first].shape, self.dtype) if out is None else out
        flat, to = [(a.reshape(-1) if whole else a, whole) for a, whole in zip(args, self.whole)], made.reshape(-1)
        size = to.size
        count = max(1, size // pool.BLOCK)

        def one(part):
            given = [a[part] if whole else a for a, whole in flat]
            if into:
                fn(*given, out=to[part])
            else:
                to[part] = fn(*given)

        def job(blocks):
            if into == 1:                      # at once: there is nothing on the way that is to stay near
                return one(slice(blocks[0].start, blocks[-1].stop))
            for part in blocks:
                one(part)
        pool.over([slice(size * k // count, size * (k + 1) // count) for k in range(count)], job, size)
        return made


def shared(fn, ins: list[Spec], out: Spec):
    """`fn`, an elementwise function of operands `ins`, by as many threads as `out` is worth."""
    if fn is None or hasattr(fn, "alone") or not any([s.shape for s in ins]) or any([s.shape not in ((), out.shape) for s in ins]):
        return fn
    made = Shared(fn, ins, out)
    return made if out.size >= (2 * pool.WORTH if made.into == 1 else pool.WORTH) else fn       # a loop alone is as fast as memory is
