"""When a state is compiled, which of its programs serves a flush, what it may overwrite, and how many are kept."""
from __future__ import annotations

import collections
import os
import sys
import threading
import weakref

import numpy as np

from .. import heap
from ..device import is_host
from ..record.trie import counters
from . import cost, report
from .program import OWN, Program, needed_steps, state_device, steps_of

PROGRAM_CAP = 512
LARGE = 5e8                # nanoseconds of compiling, by estimate, after which the heap holds much that is free: 170 MB for a GPT
getrefcount = sys.getrefcount
UNHELD = (lambda only: getrefcount(only[0]))([object()])   # what getrefcount says of an object that one list holds
TIERS = ("auto", "compiled", "operators")      # as pays; every trace is compiled at once; none is
tier = chosen = os.environ.get("TORCHSHIM_TIER") or "auto"
if tier not in TIERS:
    raise ValueError(f"TORCHSHIM_TIER must be one of {', '.join(TIERS)}, not {tier!r}")
lock = threading.RLock()       # held while a program is chosen and compiled: a thread that reaches the same state waits for it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)     # or nobody releases it there
_lru: collections.OrderedDict = collections.OrderedDict()


def pin(name):
    """Keep to one tier from now on; None: go back to what the environment chose."""
    global tier
    tier = name or chosen


def find(state, live, dead):
    """A program that computes the slots in the list `live` (among others perhaps) and overwrites none but the inputs `dead`."""
    for p in state.programs or ():
        if (live == p.live or p.where.keys() >= set(live)) and p.donate <= dead:
            return p
    return None


def due(state, tier, live, times=1):
    """Whether to compile a state that is met once more: as soon as it has lost by not being compiled what compiling costs.

    times: how often it was met since it was last asked. The best that could be done, knowing how often it will come, is at most twice as
    good. Accelerators have no other tier.
    """
    state.seen += times
    if tier != "auto" or state.seen == 1:
        return tier == "compiled"
    if state.due is None:
        state.due = _repetitions(state, live, False)
    return state.seen >= state.due and (not state.awaited() or state.seen >= _due_awaited(state, live))


def _repetitions(state, live, awaited):
    if not is_host(state_device(state)):
        return 2
    return cost.repetitions(*cost.of_trace(needed_steps(steps_of(state), live), live, state.n_inputs, awaited))


def _due_awaited(state, live):
    """`state.due` where somebody looks each time as soon as it is computed."""
    known = state.kept()
    if known.get("awaited", ())[:1] != (state.due,):
        known["awaited"] = state.due, _repetitions(state, live, True)
    return known["awaited"][1]


DONATE_BYTES = 1 << 16
_NONE: frozenset = frozenset()


def donatable(inputs, state):
    """Inputs that die with this trace: their buffers may be overwritten. Nobody else may hold the array, and the engine must have
    made it: JAX arrays of the user's may share a buffer with others of theirs."""
    kept = state.kept()
    large = kept.get("large")
    if large is None:
        large = kept["large"] = [k for k, v in enumerate(inputs) if v.meta.numel * v.meta.dtype.itemsize >= DONATE_BYTES]
    if not large:
        return _NONE
    out = set()
    for k in large:
        if getrefcount(inputs[k]) <= UNHELD:
            v = inputs[k]
            if (getrefcount(v.array) <= UNHELD and (v.extra is OWN or v.array.__class__ is np.ndarray)
                    and not weakref.getweakrefcount(v)):
                out.add(k)
    return frozenset(out)


def compiled(state, live, dead, values):
    """A program for `state` that computes `live`, compiled unless another thread did so meanwhile."""
    with lock:
        return find(state, live, dead) or _compile(state, live, dead, values)


def _compile(state, live, dead, values):
    known = state.programs or []
    slots = set(live)
    for p in known:
        slots.update(p.live)
    p = Program(state, sorted(slots), dead.intersection(*[p.donate for p in known]))
    p.event = report.note_compile(state, live, known, p.pieces)
    if p.event.price > LARGE:
        heap.give_back()
    state.programs = known + [p]
    _lru[p] = None
    while len(_lru) > PROGRAM_CAP:
        drop(next(iter(_lru)))
    counters["compiles"] += 1
    st = state
    while st is not None and not st.walked:
        st.walked = True
        st = st.parent
    return p


def used(p):
    """`p` has just run: it is the last to be dropped. That is noted now and then."""
    p.event.runs += 1
    if p.event.runs % 16 != 1:
        return
    with lock:
        if p in _lru:                          # another thread may have dropped it
            _lru.move_to_end(p)


def drop(p):
    with lock:
        _lru.pop(p, None)
        if p.state.programs:
            p.state.programs = [q for q in p.state.programs if q is not p]
