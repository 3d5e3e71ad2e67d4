"""torch.profiler: profiles of chosen steps. See torch.autograd.profiler for what the events are."""
from __future__ import annotations

import enum
import os
import socket
import time

from ..autograd import profiler as _profiler
from ..autograd.device_type import DeviceType
from ..autograd.profiler import KinetoStepTracker, kineto_available, record_function
from ..dropin import missing_attribute as _missing_attribute
from .execution_trace import ExecutionTraceObserver

__all__ = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    """What is to be profiled. What runs on an accelerator is timed as what the host waits for."""
    CPU, XPU, CUDA, HPU, MTIA, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What a profile does in a step."""
    __module__ = "torchshim.profiler.profiler"
    NONE, WARMUP, RECORD, RECORD_AND_SAVE, DEVICE_STOPPED = range(5)


def supported_activities():
    """The activities that can be asked for."""
    from .. import cuda
    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if cuda.is_available() else set())


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from a step's number to what is done in it: skip_first steps, then cycles (repeat of them; 0: for ever) of `wait`,
    `warmup` and `active` steps. AssertionError for negative numbers and for active=0."""
    assert wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0, "Invalid profiler schedule arguments"

    def action(step):
        assert step >= 0
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """A function for `on_trace_ready` that writes each trace into a folder."""
    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")))
    return handler


class profile:
    """A context in which the steps that `schedule` chooses are timed (without one: everything); `step()` begins the next one, and
    on_trace_ready(self) is called when a chosen group of steps ends. Other options are accepted."""
    __module__ = "torchshim.profiler.profiler"

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, custom_trace_id_callback=None, post_processing_timeout_s=None):
        self.activities = set(activities or supported_activities())
        assert self.activities, "No valid profiler activities found"
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready, self.step_num, self.profiler = on_trace_ready, 0, None
        self.current_action, self._range = self.schedule(0), None
        self._options = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
                         "with_flops": with_flops, "with_modules": with_modules, "experimental_config": experimental_config}
        self.execution_trace_observer, self.custom_trace_id_callback = execution_trace_observer, custom_trace_id_callback

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()
        return False

    def set_custom_trace_id_callback(self, callback):
        """Let callback() name the traces to come."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self):
        """The name of the trace; None before the first."""
        return None if self.profiler is None else self.profiler.trace_id

    def start(self):
        """Begin."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        self._go(ProfilerAction.NONE, self.current_action)

    def stop(self):
        """End; what was not handed out yet is."""
        self._leave()
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._save()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

    def step(self):
        """The next step begins."""
        self._leave()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._save()
            before = ProfilerAction.NONE
        self._go(before, self.current_action)

    def _leave(self):
        if self._range is not None:
            self._range.__exit__()
            self._range = None

    def _go(self, before, now):
        records = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if now in records:
            if before not in records:
                self.profiler = _profiler.profile(custom_trace_id_callback=self.custom_trace_id_callback, **self._options)
                self.profiler.__enter__()
            if self.record_steps:
                self._range = record_function(f"ProfilerStep#{self.step_num}")
                self._range.__enter__()
        elif before in records:
            self._save()

    def _save(self):
        self.profiler.__exit__(None, None, None)
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _finished(self):
        assert self.profiler is not None, "Profiler must be initialized before getting key averages"
        return self.profiler

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """One event for each name; see torch.autograd.profiler.EventList."""
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self):
        """All events."""
        return self._finished()._checked()

    def toggle_collection_dynamic(self, enable, activities):
        """See torch.autograd.profiler.profile.toggle_collection_dynamic."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def export_chrome_trace(self, path, use_python_export=False):
        """Write a file that chrome://tracing and Perfetto show; zipped if its name ends in .gz."""
        if not str(path).endswith(".gz"):
            return self._finished().export_chrome_trace(path)
        import gzip
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            self._finished().export_chrome_trace(plain)
            with open(plain, "rb") as source, gzip.open(path, "wb") as f:
                f.write(source.read())

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """See torch.autograd.profiler.EventList.export_stacks; AssertionError without with_stack=True."""
        self._finished().export_stacks(path, metric)

    def add_metadata(self, key, value):
        """Accepted; not written."""

    add_metadata_json = preset_metadata_json = add_metadata


__getattr__ = _missing_attribute(__name__, lazy=("itt", "profiler", "python_tracer"))
