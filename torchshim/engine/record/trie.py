"""The trie of all that was ever recorded: a `State` is a place in it, the operators since the last flush up to numbering.

All threads walk the same trie. What is there is looked up without a lock; what is missing is grown under `growing`, and
`setdefault` decides which of two threads was first. The lock is re-entrant: a finalizer that records may run while it is held.
"""
from __future__ import annotations

import threading

import numpy as np

from ..site import leaving, user_site

TRIE_CAP = 12_000          # states before those that are long unused are forgotten
growing = threading.RLock()
counters = {"ops": 0, "flushes": 0, "compiles": 0, "hits": 0, "interpreted": 0, "states": 0, "immediate": 0, "traces": 0}
_roots: dict = {}
_full = TRIE_CAP           # how many states are enough to look for some to forget
epoch = 0                  # context that changes what operators mean (default dtype): part of the root's key


class _Exactly:
    """In a key, what NumPy holds to be equal: None and the dtype float64."""
    __slots__ = ("what",)

    def __init__(self, what):
        self.what = what

    def __eq__(self, other):
        return other is self.what or self.what is not None and other is not None and other == self.what


_EQUAL = _Exactly(None), _Exactly(np.dtype(np.float64))


def _told_apart(key):
    """The key of an operator as it is compared: dictionaries ask for hashes first, comparisons of keys do not."""
    if key.__class__ is not tuple or len(key) != 4 or key[1].__class__ is not tuple:
        return key
    layout = tuple([_EQUAL[0] if x is None else _EQUAL[1] if x.__class__ is _EQUAL[1].what.__class__ else x for x in key[1]])
    return (key[0], layout, *key[2:])


class State:
    """A place in the trie. `inst` made it from `slots`, or `inst` is a Meta: an input was met. `then`: the one among the `next` that an
    operator led to the last time, mostly what comes now; to compare its key takes half as long as to find it."""
    __slots__ = ("next", "then", "parent", "inst", "slots", "nums_before", "n_values", "n_inputs", "n_nums", "n_ops",
                 "programs", "seen", "looked", "due", "site", "variants", "steps", "walked", "key", "stop", "last")

    def __init__(self, parent, inst=None, slots=(), values=0, inputs=0, nums=0, site=None, key=None):
        self.next, self.parent, self.inst, self.slots = {}, parent, inst, slots
        if parent is None:
            self.n_values = self.n_inputs = self.n_nums = self.nums_before = self.n_ops = 0
        else:
            self.nums_before = parent.n_nums
            self.n_values = parent.n_values + values
            self.n_inputs = parent.n_inputs + inputs
            self.n_nums = parent.n_nums + nums
            self.n_ops = parent.n_ops + (0 if inputs else 1)
        self.then = self.programs = self.variants = self.steps = self.stop = self.due = None
        self.seen, self.looked, self.walked = 0, 0, False      # looked: how often somebody looked soon after it was computed
        self.last = counters["flushes"]    # when a trace last ended here, counted in flushes
        self.site, self.key = site, _told_apart(key)

    def grow(self, key, inst, slots=(), **counts):
        """The state that follows by `key`, which was not there a moment ago."""
        st = State(self, inst, slots, key=key, **counts)
        with growing:
            found = self.next.setdefault(key, st)
            if found is st:
                counters["states"] += 1
        return found

    def miss(self, key, vals):
        """First time that the operator of `key` follows this state: infer what it makes (its errors are raised here)."""
        op, layout, kinds, slots = key
        try:
            inst = op.resolve(layout, tuple([v.meta for v in vals]), kinds)
        except Exception as error:
            raise leaving(error)
        return self.grow(key, inst, slots, values=len(inst.out_metas), nums=len(kinds), site=user_site())

    def awaited(self):
        """Whether somebody looks soon after this is computed, mostly."""
        return 2 * self.looked >= self.seen

    def kept(self):
        """What others remember at this state: a dict, made when it is first asked for."""
        if self.variants is None:
            with growing:
                if self.variants is None:
                    self.variants = {}
        return self.variants


def root(device):
    """Where a trace on `device` begins."""
    key = (device, epoch)
    r = _roots.get(key)
    if r is None or counters["states"] > _full:
        with growing:
            if counters["states"] > _full:
                _forget()
            r = _roots.get(key)
            if r is None:
                r = _roots[key] = State(None)
                counters["states"] += 1
    return r


def _forget():
    """Cut off the half of the trie whose traces ended longest ago; what has compiled programs stays (of those there is a cap too).

    Traces that are somewhere in what is cut off go on there: states know their parents, and nobody else finds them.
    """
    global _full
    found, used = states(), {}
    for st in reversed(found):
        own = float("inf") if st.programs else st.last
        used[st] = max([used[c] for c in list(st.next.values()) if c in used], default=own)
        used[st] = max(used[st], own)
    limit = sorted(used.values())[len(used) // 2] if used else 0
    for st in found:
        for k, c in list(st.next.items()):
            if used.get(c, limit) < limit:
                st.next.pop(k, None)
                st.then = None
    left = sum([used[st] >= limit for st in found])
    counters["states"] = left
    _full = max(TRIE_CAP, 2 * left)


def states():
    """All states there are, parents before their children."""
    found = list(_roots.values())
    for st in found:                           # grows while we go
        found.extend(list(st.next.values()))
    return found


def clear():
    """Forget all that was ever recorded; traces that are under way go on where they are."""
    global _full
    with growing:
        _roots.clear()
        counters["states"], _full = 0, TRIE_CAP
