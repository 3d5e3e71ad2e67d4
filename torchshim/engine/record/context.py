"""What belongs to a thread: its current trace and its modes."""
from __future__ import annotations

import contextlib
import os
import threading
import weakref

from .trace import Trace

_default_eager = os.environ.get("TORCHSHIM_EAGER", "") not in ("", "0")
steppers = weakref.WeakSet()   # optimizers: while one lives, steps end with its step()


class Writers:
    """The threads that record. While there are `several`, each holds the lock from its look at memory that it changes to the change:
    a tensor that others see would lose what they write meanwhile. Who holds it already does not ask for it again.

    Where processes share memory there are several, too: `across(tensors)` is then the block in which no other process writes to those.
    `threads` says whether there is another thread."""

    def __init__(self):
        self.several = self.threads = False
        self.holder = self.across = None
        self.lock, self._alive = threading.RLock(), set()

    def free(self):
        """Whether this thread has to take the lock before it writes."""
        return self.several and self.holder != threading.get_ident()

    @contextlib.contextmanager
    def hold(self, tensors=()):
        """A block in which no other thread writes, nor another process to `tensors`."""
        with self.lock:
            before, self.holder = self.holder, threading.get_ident()
            try:
                if self.across is None or not tensors:
                    yield
                else:
                    with self.across(tensors):
                        yield
            finally:
                self.holder = before

    def share(self, across):
        """From now on other processes may write what this one does."""
        self.across, self.several = across, True

    def count(self):
        """An object that a thread has as long as it lives."""
        return _Alive(self._alive)

    def counted(self):
        """How many threads are alive has changed."""
        self.threads = len(self._alive) > 1
        self.several = self.threads or self.across is not None

    def in_child(self):
        """After a fork there is one thread, and whoever held the lock is not there."""
        self._alive.intersection_update([threading.get_ident()])
        self.holder, self.lock = None, threading.RLock()
        self.counted()


class _Alive:
    def __init__(self, alive):
        self.alive, self.thread = alive, threading.get_ident()
        alive.add(self.thread)
        writers.counted()

    def __del__(self):
        self.alive.discard(self.thread)
        writers.counted()


writers = Writers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=writers.in_child)


class Context(threading.local):
    """This thread's trace and modes. The facade keeps its own modes here too (`grad`).

    `executor` computes what is recorded; the engine hands it in, since recording knows nothing of it. It has
    `run_trace(trace)` for a trace that ended (returns the error of a failed operator), `granted(context, trace)` for what
    computes calls at once in a trace that begins, or None, `run_prefix(state, values, inputs, nums, live)`
    for the slots `live` of one that goes on, and `immediate(context, op, layout, vals, nums, kinds)` for what cannot be recorded.
    """

    def __init__(self, executor):
        self._executor = self.plain = executor
        self.watched = False
        self.calm = self.owed = 0  # see engine/direct.py
        self.direct, self.new = None, False
        self.ended = None          # where the last trace ended, until somebody looks
        self.eager = _default_eager
        self.thread = threading.get_ident()
        self.alive = writers.count()
        self.version = 0           # with which new memory begins; the facade marks what is born in some mode by another
        self.trace = Trace(self, None)         # the first value tells the device: asking JAX for one starts its backends
        self.grad = True
        self.inference = False
        self.modes = {}

    @property
    def executor(self):
        return self._executor

    @executor.setter
    def executor(self, executor):
        """Whoever comes between wants to see what is recorded: nothing is computed without."""
        self._executor, self.watched = executor, executor is not self.plain
        self.record_all()

    def record_all(self):
        """Compute nothing that is not recorded first until some traces have come again. For who asks what values are computed from: a mode
        of `direct.FOLLOWED` is on then, or the executor another."""
        self.calm, self.new, self.trace.direct = 0, False, None

    @contextlib.contextmanager
    def mode(self, name, value):
        """A block in which a mode has this value; None: in which it is off."""
        before = self.modes.pop(name, None)
        if value is not None:
            self.modes[name] = value
        try:
            yield
        finally:
            self.modes.pop(name, None)
            if before is not None:
                self.modes[name] = before

    def go_to(self, device):
        """Record for `device` from now on."""
        if self.trace.device is not device:
            self.trace.flush()
            self.trace = Trace(self, device)

    def backward_done(self, retained=False):
        """The end of a backward pass is a step boundary, unless an optimizer's step will be one, or the graph was retained:
        for another pass."""
        tr = self.trace
        tr.backwards += 1
        if self.eager or tr.backwards > 1 or not (retained or steppers):
            tr.flush()

    def step_done(self):
        """The end of an optimizer's step is a step boundary."""
        self.trace.flush()

    def look(self):
        """Note that somebody looks at values: what computed them, if it ended little before, has not run beside the recording of much."""
        ended, self.ended = self.ended, None
        state = self.trace.state
        if ended is not None and state is not None and state.n_ops * 4 <= ended.n_ops:
            ended.looked += 1
