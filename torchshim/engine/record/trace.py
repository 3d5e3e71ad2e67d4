"""Recording: a trace is a walk in a trie, one dictionary look-up per operator.

Between any two bytecodes may come an exception (Ctrl-C), or code that records in its turn (a finalizer, a signal handler), or
another thread that needs one of our values. What keeps the numbers right then is how a record ends:

1. All objects are made first, and slots are told by the *state* (`state.n_values`), never by how long a list is.
2. They are appended to the trace's lists. Of these only what the state counts is there; what a record left that was interrupted
   here lies beyond, and the next one drops it (`Trace.trim`).
3. If `trace.state` is still the state that the slots were told by, the next state is assigned: this publishes the record.
   Otherwise something was recorded or computed in between, and the record is made again from the start. CPython takes signals,
   collects garbage and switches threads at calls, allocations and jumps backwards, and there is none between the two.

A trace that ended has no `state` (None), so that whoever still held it records anew in the present one.
"""
from __future__ import annotations

import threading

import numpy as np

from ..quiet import quiet
from .checks import undo_failed, withhold
from .loop import next_cut
from .meta import Meta
from .trie import counters, root
from .value import TRACED, Immediate, Value, lost, present_or_lost

PERIOD_CHECK = 64          # first place where a loop that nobody looks into may be cut
LONGEST = 4096             # and where a trace is cut in any case
GRAPH_CHECK = 2048         # the first such place while a graph is being built: a cut makes outputs of its residuals
REACH, STEPS, FEW = 64, 16, 2048   # how many records back, how many operators, and on how many elements, are computed for one look


class Trace:
    """One walk from the root: where it is (`state`; `end` once it ended, until its values are computed), and the values, inputs and
    numbers met on it."""
    __slots__ = ("state", "end", "values", "inputs", "nums", "limit", "device", "context", "owner", "running", "checks", "undo", "graph",
                 "backwards", "version", "direct")

    def __init__(self, context, device):
        self.context, self.device, self.owner = context, device, context.thread
        self.state, self.end = root(device), None
        self.values, self.inputs, self.nums = [], [], []
        self.running = threading.RLock()   # held while the values of a trace that ended are computed
        self.checks = self.undo = None     # see checks.py
        self.backwards = 0
        self.graph = False         # whether an autograd graph is being built, or walked
        self.limit = 1 if context.eager else PERIOD_CHECK
        self.version = context.version
        self.direct = None         # what computes small calls at once, see engine/direct.py

    # -- recording -----------------------------------------------------------------------------------------------------------
    def enter(self, v):
        """Number an outside value as the next input of this trace; returns its slot."""
        if v.array is None:
            if v.trace is None:
                if v.meta.device == "meta":
                    raise Immediate
                v = present_or_lost(v)
                if v.trace is self:
                    return v.slot
            else:
                v.trace.finish(v)
        if v.extra is not None and v.extra is TRACED:
            raise Immediate
        meta = v.meta
        if meta.device is not self.device:
            raise Immediate
        other = v.trace
        if other is not None and other.owner != self.owner:
            slot = self._met_before(v)         # another thread took it over since
            if slot is not None:
                place_input(v, self, slot)
                return slot
        while True:
            state = self.state
            if state is None:
                return 0                   # the trace ended meanwhile: the record is made again
            st = state.next.get(meta)
            if st is None:
                st = state.grow(meta, meta, inputs=1)
            inputs = self.inputs
            if len(inputs) != state.n_inputs:
                self.trim(state)
            inputs.append(v)
            if self.state is state:
                self.state = st
                break
        v.trace = None                         # as place_input
        slot = v.slot = ~state.n_inputs
        v.trace = self
        return slot

    def _met_before(self, v):
        """The slot of an input of this trace that `v` is, or None."""
        state = self.state
        for k, known in enumerate(self.inputs[:state.n_inputs] if state is not None else ()):
            if known is v:
                return ~k

    def trim(self, state):
        """Drop what an interrupted record left beyond `state`."""
        values, inputs, nums = slice(state.n_values, None), slice(state.n_inputs, None), slice(state.n_nums, None)
        if self.state is state:
            del self.values[values], self.inputs[inputs], self.nums[nums]

    # -- computing -----------------------------------------------------------------------------------------------------------
    def finish(self, v):
        """Make `v` (recorded here) exist."""
        if self.context.trace is self:
            self.flush(raise_failure=False)    # what `v` does not depend on is not this look's concern
            self.context.look()
        else:
            self.catch_up(v.slot)
        if v.array is None:
            if v.trace is not None and v.trace is not self:
                return v.trace.finish(v)       # nobody was expected to ask for it, see engine/unread.py
            raise lost(v)

    def flush(self, raise_failure=True):
        """Compute every value that somebody still holds, and begin a new trace.

        The new one begins before anything is computed, so that what is recorded meanwhile (by a finalizer) has its place.
        """
        context = self.context
        executor, after = context.executor, Trace(context, self.device)
        if context.trace is self:
            context.trace = after
        state = self.state
        if state is None:
            return
        self.end = state
        self.state = None
        failure = error = None
        if state.n_values:
            with self.running:
                del self.values[state.n_values:]
                counters["flushes"] += 1
                state.last, context.ended = counters["flushes"], state
                counters["ops"] += state.n_ops
                failure = executor.run_trace(self)
                error = undo_failed(self) if self.checks else None
                self.checks = self.undo = self.end = None
        self.end = None
        # Cleared, not replaced: whoever still records here finds lists, and then no state; and a value that nobody held is not kept
        # alive, uncomputed, by a frame that held the list: a view's weak reference would find it.
        self.values.clear()
        self.inputs.clear()
        self.nums.clear()
        after.direct = executor.granted(context, after)
        if error is not None:
            raise error
        if failure is not None and raise_failure:
            raise failure

    def catch_up(self, slot):
        """Compute what was recorded so far without moving: another thread looks at `slot`, or the owner was interrupted in its flush."""
        if self.checks and not self._owned():
            with self.running:
                self.flush()
        state = self.state
        if state is not None:
            held = self.values[:state.n_values], self.inputs[:state.n_inputs], self.nums[:state.n_nums]
            if self.state is not None:         # else the owner computes, and may have given inputs away before we held them
                self._run_prefix(state, *held, self._sound(state, *held, slot))
                return
        with self.running:
            state = self.end
            if state is not None:
                self._finish_flush(state, self.values[:state.n_values], self.inputs[:state.n_inputs], self.nums[:state.n_nums])

    def _owned(self):
        """Whether the thread that records here lives."""
        return any([t.ident == self.owner for t in threading.enumerate()])

    def _run_prefix(self, state, values, inputs, nums, end):
        live = [k for k, v in enumerate(values[:end]) if v.array is None and v.trace is self]
        self.context.executor.run_prefix(state, values, inputs, nums, live)

    def _sound(self, state, values, inputs, nums, slot):
        """How many values were recorded before a check that fails. The owner will undo what it did since; who looks at such a
        value until then is told."""
        checks = [c for c in self.checks or () if c.first <= state.n_values]
        if checks:
            self.context.executor.run_prefix(state, values, inputs, nums, [c.bad.slot for c in checks if c.bad.array is None])
            for c in checks:
                if c.failed():
                    if slot >= c.first:
                        raise c.error()
                    return c.first
        return state.n_values

    def _finish_flush(self, state, values, inputs, nums):
        """Do what a flush that was interrupted did not do."""
        error = None
        if self.checks:
            run = self.context.executor.run_prefix
            run(state, values, inputs, nums, [c.bad.slot for c in self.checks if c.bad.array is None])
            withhold(self, range(state.n_values), lambda slot: None)
            error = undo_failed(self)
            self.checks = self.undo = None
        self._run_prefix(state, values, inputs, nums, state.n_values)
        if error is not None:
            raise error

    # -- ending ----------------------------------------------------------------------------------------------------------------
    def cut(self):
        """The trace has reached its limit and nobody looks: loops are cut between two turns."""
        state = self.state
        if state is None:
            return
        if self.context.eager:
            self.flush()
            return
        n = state.n_values
        if self.graph and n < GRAPH_CHECK:
            self.limit = GRAPH_CHECK
            return
        if state.stop is None:
            state.stop = _stop(state, n)
        if state.stop:
            self.limit = state.stop
        else:
            self.flush()


def place_input(v, tr, slot):
    """Tell an input where it is; at no time is one half of the old place with the other half of the new one."""
    v.trace = None
    v.slot = slot
    v.trace = tr


def known(v):
    """The array of a Value that is there already, or that few small operators among the last records make of what is there: it is made
    for this look, the trace goes on as if nobody had looked. None: to know it would take longer than to say later what is wrong."""
    if v.array is not None or v.trace is None:
        return v.array
    tr, state, wanted, steps = v.trace, v.trace.state, {v.slot}, []
    for _ in range(REACH):
        if state is None or state.parent is None:
            return None                        # its trace has ended
        first, inst = state.parent.n_values, state.inst
        if inst.__class__ is not Meta and any([k >= first for k in wanted]):
            if sum([m.numel for m in inst.in_metas]) > FEW or sum([m.numel for m in inst.out_metas]) > FEW:
                return None
            steps.append((state, first))
            if len(steps) > STEPS:
                return None
            wanted = {k for k in wanted if k < first}.union([k for k in state.slots if k >= 0])
            if not wanted:
                break
        state = state.parent
    else:
        return None
    made = {}
    for state, first in reversed(steps):
        nums = [np.asarray(x, np.float64 if kind == "f" else np.int64)
                for x, kind in zip(tr.nums[state.nums_before:state.n_nums], state.inst.kinds)]
        arrays = [made[k] if k >= 0 else tr.inputs[~k].array for k in state.slots]
        try:
            out = quiet(state.inst.interpreted(), *arrays, *nums)
        except Exception:                      # said where the trace is computed
            return None
        made.update(enumerate(out, first))
    return made[v.slot]


def _stop(state, n):
    """Where a trace that got here is to be asked again; 0: it ends here. A function of the state alone."""
    if n >= LONGEST:
        return 0
    end = next_cut(state)
    if end is None:
        return min(n * 2, LONGEST)
    return 0 if end == n else end


def record(context, op, layout, vals, nums=(), kinds=""):
    """Record `op` on Values; returns (a Value, or a list of them when the operator returns several; its Instance)."""
    tr = context.trace
    try:
        slots = tuple([v.slot if v.trace is tr else tr.enter(v) for v in vals])
    except Immediate:
        slots = None
    if slots is None:
        return context.executor.immediate(context, op, layout, vals, nums, kinds)
    state = tr.state
    if state is None:                          # entering a value may have computed this trace
        return record(context, op, layout, vals, nums, kinds)
    key, st = (op, layout, kinds, slots), state.then
    if st is None or st.key != key:
        st = state.next.get(key)
        if st is None:
            st = state.miss(key, vals)
        state.then = st
    inst, values, n = st.inst, tr.values, state.n_values
    out = inst.out
    if out.__class__ is tuple:
        result = made = []
        for k, m in enumerate(out, n):
            v = Value()                        # a fifth less than Value.__new__(Value)
            v.trace = tr
            v.slot = k
            v.meta = m
            v.array = v.extra = None
            made.append(v)
    else:
        result = v = Value()
        v.trace = tr
        v.slot = n
        v.meta = out
        v.array = v.extra = None
        made = (v,)
    if len(values) != n or len(tr.nums) != state.n_nums:
        tr.trim(state)
    if kinds:
        tr.nums.extend(nums)
    values.extend(made)
    if tr.state is not state:                  # something was recorded in between
        return record(context, op, layout, vals, nums, kinds)
    tr.state = st
    if st.n_values >= tr.limit:
        tr.cut()
    return result, inst


def replace_last(tr, values, make):
    """Take back the last record of `tr`, which made `values`, and let them be what `make()` records in its place: as many Values, of the
    same metas. Nothing happens where the trace has gone on."""
    state = tr.state
    if state is None or [v.slot for v in values if v.trace is tr] != list(range(state.n_values - len(values), state.n_values)):
        return
    tr.state = state.parent
    tr.trim(tr.state)
    for v, w in zip(values, make(), strict=True):
        if w.trace is tr and w.array is None:
            tr.values[w.slot] = v
        v.trace, v.slot, v.array, v.extra = w.trace, w.slot, w.array, w.extra
