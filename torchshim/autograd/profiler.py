"""torch.autograd.profiler: what ran, and for how long.

Events are the ranges that the program marks (`record_function`) and what the engine ran: a program of several operators, or a single one.
Work is recorded before it runs, so a range ends with what was recorded in it being computed, while a profile runs.
"""
from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections import defaultdict

from ..engine import context, flush

_running = []                                  # profiles, the innermost last


def _now():
    return time.perf_counter_ns() / 1000       # microseconds


class FunctionEvent:
    """One thing that ran: `name`, `cpu_time_total` and `self_cpu_time_total` (µs), `count`, `thread`, `time_range`."""

    def __init__(self, name, start, thread, parent=None):
        self.name = self.key = name
        self.start, self.end, self.thread, self.cpu_parent, self.cpu_children = start, None, thread, parent, []
        self.count, self.id, self.is_async, self.input_shapes, self.stack, self.flops = 1, 0, False, [], [], 0
        if parent is not None:
            parent.cpu_children.append(self)

    cpu_time_total = property(lambda self: self.end - self.start, doc="Microseconds from beginning to end.")
    self_cpu_time_total = property(lambda self: self.cpu_time_total - sum([c.cpu_time_total for c in self.cpu_children]),
                                   doc="The same without the events within.")
    cpu_time = property(lambda self: self.cpu_time_total / self.count, doc="Microseconds a call.")
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = device_time = cuda_time = 0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = 0

    def __repr__(self):
        return f"<{type(self).__name__} name={self.key} cpu_time={_shown(self.cpu_time_total)} count={self.count}>"


class FunctionEventAvg(FunctionEvent):
    """All events of one name together."""

    def __init__(self, events):
        first = events[0]
        super().__init__(first.name, first.start, first.thread)
        self.count = len(events)
        self._total, self._self = sum([e.cpu_time_total for e in events]), sum([e.self_cpu_time_total for e in events])

    cpu_time_total = property(lambda self: self._total, doc="Microseconds in all.")
    self_cpu_time_total = property(lambda self: self._self, doc="The same without the events within.")


def _shown(us):
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class EventList(list):
    """Events, with their sums and tables."""

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """One event for each name."""
        groups = defaultdict(list)
        for e in self:
            groups[e.key].append(e)
        return EventList([FunctionEventAvg(g) for g in groups.values()])

    def total_average(self):
        """One event for all."""
        return FunctionEventAvg(list(self)) if self else None

    self_cpu_time_total = property(lambda self: sum([e.self_cpu_time_total for e in self]), doc="Microseconds of all events.")

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False):
        """A table of the events, by an attribute (such as "cpu_time_total"), the largest first; row_limit -1: all of them."""
        events = list(self)
        if sort_by is not None:
            key = sort_by.replace("cuda", "device")
            events.sort(key=lambda e: getattr(e, key), reverse=True)
        if top_level_events_only:
            events = [e for e in events if e.cpu_parent is None]
        total = self.self_cpu_time_total
        percent = lambda x: f"{100 * x / total if total else 0:.2f}%"
        rows = [("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")]
        for e in events[:None if row_limit == -1 else row_limit]:
            name = e.key if len(e.key) <= max_name_column_width else e.key[:max_name_column_width - 3] + "..."
            rows.append((name, percent(e.self_cpu_time_total), _shown(e.self_cpu_time_total), percent(e.cpu_time_total),
                         _shown(e.cpu_time_total), _shown(e.cpu_time), str(e.count)))
        widths = [max([len(r[k]) for r in rows]) + 2 for k in range(len(rows[0]))]
        line = "  ".join(["-" * w for w in widths])
        text = ["  ".join([c.rjust(w) for c, w in zip(r, widths)]) for r in rows]
        top = [line] if header is None else [line, header, line]
        return "\n".join([*top, text[0], line, *text[1:], line, f"Self CPU time total: {_shown(total)}", ""])

    __str__ = table

    def export_chrome_trace(self, path):
        """Write a file that chrome://tracing and Perfetto show."""
        events = [{"ph": "X", "cat": "cpu_op", "name": e.name, "pid": os.getpid(), "tid": e.thread, "ts": e.start, "dur": e.cpu_time_total}
                  for e in self]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "traceEvents": events}, f)

    def export_stacks(self, path, metric):
        """NotImplementedError: no stacks are kept."""
        raise NotImplementedError("torchshim: export_stacks; chrome traces show ranges within ranges")


class _Timed:
    """The engine's executor with a look at the clock before and after."""

    def __init__(self, executor, profile):
        self.executor, self.profile = executor, profile

    def __getattr__(self, name):
        return getattr(self.executor, name)

    def run_trace(self, trace):
        """See `Context`."""
        state = trace.end
        single = getattr(getattr(state.inst, "op", None), "name", "operator")
        event = self.profile._begin(f"torchshim::{single}" if state.n_ops == 1 else f"torchshim::program[{state.n_ops} operators]")
        try:
            return self.executor.run_trace(trace)
        finally:
            self.profile._finish(event)


class profile:
    """A context in which what this thread runs is timed. enabled=False: nothing happens; other options are accepted.

    Afterwards: `key_averages()`, `table()`, `export_chrome_trace(path)`, `function_events`.
    """

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None, acc_events=False,
                 custom_trace_id_callback=None):
        self.enabled, self.entered = enabled, False
        self.function_events = None
        self._events, self._open = [], []

    def _begin(self, name):
        event = FunctionEvent(name, _now(), threading.get_ident(), self._open[-1] if self._open else None)
        event.id = len(self._events)
        self._events.append(event)
        self._open.append(event)
        return event

    def _finish(self, event):
        event.end = _now()
        if event in self._open:
            del self._open[self._open.index(event):]

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        flush()                                # what was recorded before is not ours
        _running.append(self)
        self._plain, context.executor = context.executor, _Timed(context.executor, self)
        return self

    def __exit__(self, *exc):
        if not self.enabled:
            return False
        flush()
        context.executor = self._plain
        _running.remove(self)
        for e in self._events:
            if e.end is None:
                e.end = _now()
        self.function_events = EventList(self._events)
        return False

    def _checked(self):
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def table(self, *args, **kwargs):
        """See `EventList.table`."""
        return self._checked().table(*args, **kwargs)

    def key_averages(self, *args, **kwargs):
        """See `EventList.key_averages`."""
        return self._checked().key_averages(*args, **kwargs)

    def total_average(self):
        """See `EventList.total_average`."""
        return self._checked().total_average()

    def export_chrome_trace(self, path):
        """See `EventList.export_chrome_trace`."""
        return self._checked().export_chrome_trace(path)

    self_cpu_time_total = property(lambda self: self._checked().self_cpu_time_total, doc="Microseconds of all events.")

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    __repr__ = __str__


class record_function:
    """A range with a name, as a context or a decorator; while no profile runs it does nothing."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        self._event = None
        if _running:
            flush()
            self._profile = _running[-1]
            self._event = self._profile._begin(self.name)
        return self

    def __exit__(self, *exc):
        if self._event is not None:
            flush()
            self._profile._finish(self._event)
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def ranged(*args, **kwargs):
            with record_function(self.name):
                return func(*args, **kwargs)
        return ranged


class emit_nvtx:
    """Ranges for NVIDIA's profiler: accepted, nothing is emitted (see jax.profiler)."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


emit_itt = emit_nvtx


def kineto_available():
    """False: events are timed here."""
    return False
