"""torch.autograd.profiler: what ran, and for how long.

Events are the ranges that the program marks (`record_function`) and what the engine ran: traces of operators, and in those that are
interpreted each operator (`aten::…`, by the names they have here); a compiled program is one event, since XLA mixes its operators.
Work is recorded before it runs, so a range ends with what was recorded in it being computed, while a profile runs.
"""
from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections import defaultdict

from ..dropin import missing_attribute as _missing_attribute
from ..engine import context, execute, flush
from .device_type import DeviceType       # noqa: F401
from .profiler_util import (EventList, FormattedTimesMixin, FunctionEvent, FunctionEventAvg, Interval, Kernel, MemRecordsAcc,  # noqa: F401
                            StringTable)

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_running = []                                  # profiles, the innermost last


def _now():
    return time.perf_counter_ns() / 1000       # microseconds


def _stack():
    """The program's own lines, the innermost first."""
    found, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_HERE):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


class _Timed:
    """The engine's executor with a look at the clock before and after."""

    def __init__(self, executor, profile):
        self.executor, self.profile = executor, profile

    def __getattr__(self, name):
        return getattr(self.executor, name)

    def run_trace(self, trace):
        """See `Context`."""
        event = self.profile._begin(f"torchshim::program[{trace.end.n_ops} operators]")
        before, execute.watch = execute.watch, self._watched
        try:
            return self.executor.run_trace(trace)
        finally:
            execute.watch = before
            self.profile._finish(event)

    def _watched(self, steps):
        """The steps of a trace that is interpreted, each an event of its own."""
        if threading.get_ident() != self.profile._thread:
            return steps
        return [(functools.partial(self._step, f, inst, site), *rest, inst, site) for f, *rest, inst, site in steps]

    def _step(self, f, inst, site, *args):
        event = self.profile._begin(f"aten::{inst.op.name}", shapes=inst.in_metas,
                                    stack=[f"{site[0]}({site[1]}): {site[2]}"] if site else None)
        try:
            return f(*args)
        finally:
            self.profile._finish(event)


class profile:
    """A context in which what this thread runs is timed. enabled=False: nothing happens.

    with_stack: events have the program's lines of code (an operator the line that called it, a trace those where it was computed), for
    `export_stacks`. record_shapes: operators tell the shapes of their operands. Other options are accepted: memory, flops and modules are
    not told. Afterwards: `key_averages()`, `table()`, `export_chrome_trace(path)`,
    `function_events`.
    """
    function_events = None

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False, profile_memory=False,
                 with_stack=False, with_modules=False, use_kineto=False, use_cpu=True, experimental_config=None, acc_events=False,
                 custom_trace_id_callback=None, post_processing_timeout_s=None, activity_filters=None):
        self.enabled, self.entered, self.with_stack = enabled, False, with_stack
        self.record_shapes, self.with_flops = record_shapes, with_flops
        self.profile_memory, self.with_modules = profile_memory, with_modules
        self.experimental_config, self.custom_trace_id_callback, self.trace_id = experimental_config, custom_trace_id_callback, ""
        self._events, self._open, self._collecting = [], [], True

    def config(self, create_trace_id=False):
        """What it was made with: {option: value}."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return {name: getattr(self, name) for name in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules",
                                                       "experimental_config", "trace_id")}

    def default_trace_id(self):
        """A name for the trace: 32 digits drawn at random."""
        import uuid
        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self):
        """What custom_trace_id_callback gives, or `default_trace_id`."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def toggle_collection_dynamic(self, enabled, activities):
        """Stop timing in the middle, or go on with it; `activities` are ProfilerActivity's."""
        if not self.entered:
            raise RuntimeError("toggle_collection_dynamic is called while no profile runs")
        if activities:
            flush()
            self._collecting = bool(enabled)

    def _begin(self, name, annotation=False, shapes=(), stack=None):
        if not self._collecting:
            return None
        shapes = [list(m.shape) for m in shapes] if self.record_shapes else []
        event = FunctionEvent(len(self._events), name, self._thread, None, None, is_user_annotation=annotation,
                              stack=stack or _stack() if self.with_stack else [], input_shapes=shapes, flops=0)
        if self._open:
            event.cpu_parent = self._open[-1]
            self._open[-1].cpu_children.append(event)
        self._events.append(event)
        self._open.append(event)
        event.time_range.start = _now()        # what the profile itself takes is not the event's
        return event

    def _finish(self, event):
        if event is None:
            return
        event.time_range.end = _now()
        if event in self._open:
            del self._open[self._open.index(event):]

    def __enter__(self):
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered, self.trace_id, self._thread = True, self.create_trace_id(), threading.get_ident()
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
            if e.time_range.end is None:
                e.time_range.end = _now()
        self.function_events = EventList(self._events, profile_memory=self.profile_memory, with_flops=self.with_flops)
        self.function_events._tree_built = True
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

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """See `EventList.export_chrome_trace`; metadata: a dict that is written beside the events."""
        self._checked().export_chrome_trace(path)
        if metadata:
            import json
            with open(path, encoding="utf-8") as f:
                written = json.load(f)
            with open(path, "w", encoding="utf-8") as f:
                json.dump({**written, **metadata}, f)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """See `EventList.export_stacks`; AssertionError without with_stack=True."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        return self._checked().export_stacks(path, metric)

    self_cpu_time_total = property(lambda self: self._checked().self_cpu_time_total, doc="Microseconds of all events.")

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    __repr__ = __str__


class record_function:
    """A range with a name, as a context or a decorator; while no profile runs it does nothing."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        self._begun = ()
        if _running:
            flush()
            self._begun = [(p, p._begin(self.name, True)) for p in _running]
        return self

    def __exit__(self, *exc):
        if self._begun:
            flush()
            for p, event in reversed(self._begun):
                p._finish(event)
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


class EnforceUnique:
    """Refuses a key that it saw before."""

    def __init__(self):
        self._seen = set()

    def see(self, *key):
        """RuntimeError for a key that was seen."""
        if key in self._seen:
            raise RuntimeError("duplicate key: " + str(key))
        self._seen.add(key)


class KinetoStepTracker:
    """The step of several that count, by name: the furthest."""
    _current_step, _step_dict = 0, defaultdict(int)

    @classmethod
    def init_step_count(cls, requester):
        """Begin to count for somebody."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester):
        """End it; whether there was one."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """Another step of somebody's; the furthest."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls):
        """The furthest."""
        return cls._current_step


def parse_nvprof_trace(path):
    """NotImplementedError: files of NVIDIA's old profiler."""
    raise NotImplementedError("torchshim: parse_nvprof_trace")


def load_nvprof(path):
    """NotImplementedError: files of NVIDIA's old profiler."""
    raise NotImplementedError("torchshim: load_nvprof")


def _profiler_enabled():
    """Whether a profile runs."""
    return bool(_running)


def _disable_profiler():
    """End the innermost profile that runs; the end of its block does nothing more."""
    if _running:
        last = _running[-1]
        last.__exit__(None, None, None)
        last.enabled = False


def kineto_available():
    """False: events are timed here."""
    return False


__getattr__ = _missing_attribute(__name__)
