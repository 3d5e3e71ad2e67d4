"""Recording: a trace is a walk in a trie, one dictionary look-up per operator.

A `Value` is one functional array, made or still to be made. A `State` is a position in the trie: the
operators recorded since the last flush, up to numbering. A `Trace` is one walk: its position, and the values
and inputs met on it. `Context` is a thread's current trace with its modes.
"""
from __future__ import annotations

import os
import sys
import threading
import weakref

import numpy as np

from ..device import default_device
from .meta import Meta, meta_of

PERIOD_CHECK = 64          # first place where a loop that nobody looks into may be cut
LONGEST = 4096             # and where a trace is cut in any case
GRAPH_CHECK = 2048         # the first such place while a graph is being built: a cut makes outputs of its residuals
TRIE_CAP = 200_000         # states kept before the trie is dropped and grown anew
getrefcount = sys.getrefcount
_execute = None            # what runs traces: handed in by the package, for recording knows nothing of it


def use_executor(module):
    """`module` has `run_trace(tr)`, `run_prefix(tr)` and `immediate(context, op, layout, vals, nums, kinds)`."""
    global _execute
    _execute = module


class Immediate(Exception):
    """An operand holds a tracer, has no data or lives elsewhere: the operator is not recorded."""


class Value:
    """An immutable array that exists (`array`) or will (`trace`, `slot`)."""
    __slots__ = ("trace", "slot", "meta", "array", "extra", "__weakref__")

    def __repr__(self):
        return f"<Value {self.meta} {'pending' if self.array is None else 'ready'}>"


def value_of(array, meta, new=Value.__new__):
    """A Value around an array (NumPy, JAX or a tracer)."""
    v = new(Value)
    v.trace = v.slot = v.extra = None
    v.meta, v.array = meta, array
    return v


class State:
    """A place in the trie. `inst` made it from `slots`, or `inst` is a Meta: an input was met."""
    __slots__ = ("next", "parent", "inst", "slots", "nums_before", "n_values", "n_inputs", "n_nums", "n_ops",
                 "programs", "seen", "site", "variants", "steps", "walked", "key", "stop")

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
        self.programs = self.variants = self.steps = self.stop = None
        self.seen, self.walked = 0, False
        self.site, self.key = site, key
        counters["states"] += 1


counters = {"ops": 0, "flushes": 0, "compiles": 0, "hits": 0, "interpreted": 0, "states": 0, "immediate": 0}
_roots: dict = {}
epoch = 0                  # context that changes what operators mean (default dtype): part of the root's key
_package = __name__.partition(".")[0]


def root(device):
    key = (device, epoch)
    r = _roots.get(key)
    if r is None or counters["states"] > TRIE_CAP:
        if counters["states"] > TRIE_CAP:
            _roots.clear()
            counters["states"] = 0
        r = _roots[key] = State(None)
    return r


def user_site():
    """(file, line, function) of the innermost frame outside this package."""
    f = sys._getframe(1)
    while f is not None:
        name = f.f_globals.get("__name__", "")
        if name.partition(".")[0] != _package or name.startswith(_package + ".dropin"):
            return f.f_code.co_filename, f.f_lineno, f.f_code.co_name
        f = f.f_back
    return None


class Trace:
    """One walk from the root. Lists only grow and `state` is assigned last, so that another
    thread that needs one of our values can run the consistent prefix that `state` describes."""
    __slots__ = ("state", "values", "inputs", "nums", "limit", "device", "context", "checks", "graph", "backwards", "version")

    def __init__(self, context, device):
        self.context, self.device = context, device
        self.state = root(device)
        self.values, self.inputs, self.nums = [], [], []
        self.checks = None
        self.backwards = 0
        self.graph = False         # whether an autograd graph is being built
        self.limit = 1 if context.eager else PERIOD_CHECK
        self.version = context.version

    def enter(self, v):
        """Number an outside value as the next input of this trace; returns its slot."""
        if v.array is None:
            if v.trace is None:
                if v.meta.device == "meta":
                    raise Immediate
                raise RuntimeError(v.extra or "the value was lost: the computation that should have made it failed")
            v.trace.finish(v)
        if v.extra is not None and v.extra is TRACED:
            raise Immediate
        if v.meta.device is not self.device:
            raise Immediate
        slot = ~len(self.inputs)
        self.inputs.append(v)
        v.trace, v.slot = self, slot
        st = self.state.next.get(v.meta)
        if st is None:
            st = State(self.state, v.meta, (), inputs=1, key=v.meta)
            st = self.state.next.setdefault(v.meta, st)
        self.state = st
        return slot

    def miss(self, op, layout, vals, kinds, slots, key):
        """First time that `op` follows this state: infer what it makes (its errors are raised here)."""
        inst = op.resolve(layout, tuple([v.meta for v in vals]), kinds)
        st = State(self.state, inst, slots, values=len(inst.out_metas), nums=len(kinds), site=user_site(), key=key)
        return self.state.next.setdefault(key, st)

    def finish(self, v):
        """Make `v` (recorded here) exist."""
        if self.context.trace is self and self.context.thread == threading.get_ident():
            self.flush(raise_failure=False)    # what `v` does not depend on is not this look's concern
        else:
            _execute.run_prefix(self)
        if v.array is None:
            raise RuntimeError(v.extra or "the value was lost: the computation that should have made it failed")

    def flush(self, raise_failure=True):
        """Compute every value that somebody still holds, and begin a new trace."""
        context, failure = self.context, None
        if self.values:
            counters["flushes"] += 1
            counters["ops"] += self.state.n_ops
            failure = _execute.run_trace(self)
        context.trace = Trace(context, self.device)
        checks, self.checks = self.checks, None
        self.values = self.inputs = self.nums = ()
        if failure is not None and raise_failure:
            raise failure
        if checks:
            for bad, error in checks:
                if bool(np.asarray(bad.array)):
                    raise error()

    def cut(self):
        """The trace has reached its limit and nobody looks: cut loops at a multiple of their period."""
        if self.context.eager:
            self.flush()
            return
        state, n = self.state, len(self.values)
        if self.graph and n < GRAPH_CHECK:
            self.limit = GRAPH_CHECK
            return
        if state.stop is None:
            state.stop = self._stop(n)
        if state.stop:
            self.limit = state.stop
        else:
            self.flush()

    def _stop(self, n):
        """Where a trace that got here is to be asked again; 0: it ends here. A function of the state alone."""
        if n >= LONGEST:
            return 0
        p = _period(self.state)
        if p is None:
            return min(n * 2, LONGEST)
        return -(-n // p) * p if n % p else 0


def _period(state):
    """Smallest period, in values, of the operators up to `state`, if they repeat at least twice."""
    seq = []
    while state.parent is not None:
        if not isinstance(state.inst, Meta):
            seq.append((id(state.inst), len(state.inst.out_metas)))
        state = state.parent
    n = len(seq)
    fail = [0] * (n + 1)
    k = 0
    for i in range(1, n):
        while k and seq[i] != seq[k]:
            k = fail[k]
        if seq[i] == seq[k]:
            k += 1
        fail[i + 1] = k
    p = n - fail[n]
    if 2 * p > n:
        return None
    return sum(width for _, width in seq[:p])


class _Traced:
    def __repr__(self):
        return "traced"


TRACED = _Traced()


class Context(threading.local):
    """This thread's trace and modes. The facade keeps its own modes here too (`grad`)."""
    eager = False

    def __init__(self):
        self.eager = _default_eager
        self.thread = threading.get_ident()
        self.version = 0           # with which new memory begins; the facade marks what is born in some mode by another
        self.trace = Trace(self, None)         # the first value tells the device: asking JAX for one starts its backends
        self.grad = True
        self.inference = False
        self.modes = {}

    def backward_done(self):
        """The end of a backward pass is a step boundary, unless an optimizer's step will be one."""
        tr = self.trace
        tr.backwards += 1
        if self.eager or tr.backwards > 1 or not steppers:
            tr.flush()

    def step_done(self):
        """The end of an optimizer's step is a step boundary."""
        self.trace.flush()


_default_eager = os.environ.get("TORCHSHIM_EAGER", "") not in ("", "0")
steppers = weakref.WeakSet()   # optimizers: while one lives, steps end with its step()


def record(context, op, layout, vals, nums=(), kinds="", new=Value.__new__):
    """Record `op` on Values; returns (a Value, or a list of them when the operator returns several; its Instance)."""
    tr = context.trace
    try:
        slots = tuple([v.slot if v.trace is tr else tr.enter(v) for v in vals])
    except Immediate:
        return _execute.immediate(context, op, layout, vals, nums, kinds)
    if context.trace is not tr:                # entering a value of another thread may have flushed
        return record(context, op, layout, vals, nums, kinds)
    key = (op, layout, kinds, slots)
    st = tr.state.next.get(key)
    if st is None:
        st = tr.miss(op, layout, vals, kinds, slots, key)
    if kinds:
        tr.nums.extend(nums)
    out = st.inst.out
    values = tr.values
    if out.__class__ is tuple:
        result = []
        for m in out:
            v = new(Value)
            v.trace, v.meta, v.array, v.extra = tr, m, None, None
            v.slot = len(values)
            values.append(v)
            result.append(v)
    else:
        result = new(Value)
        result.trace, result.meta, result.array, result.extra = tr, out, None, None
        result.slot = len(values)
        values.append(result)
    tr.state = st
    if len(values) >= tr.limit:
        tr.cut()
    return result, st.inst


def array_of(v):
    """The Value's array, computed if need be."""
    if v.array is None:
        if v.trace is None:
            if v.meta.device == "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            raise RuntimeError(v.extra or "the value was lost: the computation that should have made it failed")
        v.trace.finish(v)
    return v.array


def literal(data, device=None):
    """A Value around host data (a NumPy array, not copied)."""
    return value_of(data, meta_of(data.shape, data.dtype, device or default_device()))

