"""Parts of one computation on several processors.

NumPy gives up Python's lock in its loops and products, so threads that each compute some of the results run side by side, where each of
its calls takes some hundreds of microseconds. With calls of ten microseconds, as of functions that go through arrays by blocks that stay
near, the threads wait for the lock: a GELU of four million took 1.3 times as long on two threads by blocks of 16,000, a softmax half the
time by blocks of 262,000.
"""
from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from .blas import threads
from .quiet import quiet_aligned

_pool = None
WORTH = 1 << 20            # elements from which on an array, or several, are worth the threads
BLOCK = 1 << 18            # elements of their blocks then
_LONG = 1 << 16            # of an array whose computation by NumPy takes hundreds of microseconds
_limit = None
_ours = threading.local()


def limit(count):
    """Let no computation take more than `count` threads from now on."""
    global _limit
    _limit = count


def most():
    """How many threads a computation may take."""
    return threads if _limit is None else min(threads, _limit)


def parts(n, least=1):
    """range(n) in slices of about the same length: one for each processor that may be used, but none shorter than `least`."""
    count = max(1, min(most(), n // least))
    ends = [n * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in zip(ends, ends[1:])]


def shares(sizes):
    """Which of several arrays each thread is to compute, in lists of about as many elements: short ones are all in the first."""
    made = [[k for k, n in enumerate(sizes) if n < _LONG]]
    if not worth(sum(sizes)):
        return [[*range(len(sizes))]]
    made += [[] for _ in range(most() - 1)]
    loads = [sum([sizes[k] for k in share]) for share in made]
    for k in sorted([k for k, n in enumerate(sizes) if n >= _LONG], key=lambda k: -sizes[k]):
        least = loads.index(min(loads))
        made[least].append(k)
        loads[least] += sizes[k]
    return [share for k, share in enumerate(made) if share or not k]


def worth(elements):
    """Whether an array of so many elements is worth several threads."""
    return elements >= WORTH and most() > 1


def over(blocks, job, elements):
    """job(blocks) of an array of so many elements, or job(some of the blocks) for each thread."""
    cut = parts(len(blocks)) if worth(elements) else ()
    if len(cut) > 1:
        together(lambda part: job(blocks[part]), cut)
    else:
        job(blocks)


def together(job, cut):
    """job(part) for all of some parts side by side: the first one here. One of our threads takes all of them itself: if each waited for
    others, as in a product within an update, none might be left."""
    first, *others = cut
    if not others or most() == 1 or hasattr(_ours, "here"):        # parts may have been cut when there were more threads
        for part in cut:
            job(part)
        return
    started = [_threads().submit(quiet_aligned, job, part) for part in others]
    try:
        job(first)
    finally:                                   # what they write to must not be freed before
        for one in started:
            one.result()


def aside(job):
    """Let a thread of ours do a job that nobody waits for. Whether there is one."""
    if most() == 1:
        return False
    try:
        _threads().submit(job)
    except RuntimeError:                       # the interpreter ends
        return False
    return True


def _threads():
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(threads, "torchshim", _ours.__setattr__, ("here", True))
    return _pool


def _forget():
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
