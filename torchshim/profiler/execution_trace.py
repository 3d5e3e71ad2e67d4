"""ExecutionTraceObserver: a file of what ran, as a graph of ranges and programs."""
from __future__ import annotations

import json
import os

from ..autograd import profiler as _profiler


class ExecutionTraceObserver:
    """Writes what ran between `start` and `stop` to the file of `register_callback`: nodes with a name, a number and the one around them.

    Inputs and outputs are not told: an engine's program has none of its own for each operator.
    """
    __module__ = "torchshim.profiler.profiler"

    def __init__(self):
        self._path, self._running, self._profile, self._extra = None, False, None, False

    is_registered = property(lambda self: self._path is not None, doc="Whether there is a file to write.")

    def register_callback(self, output_file_path):
        """Name the file; returns itself."""
        if self._path is None:
            self._path = output_file_path
        return self

    @staticmethod
    def build_execution_trace_obs_from_env():
        """One that writes to a file of its own if ENABLE_PYTORCH_EXECUTION_TRACE is set to 1; else None."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        import tempfile
        handle, path = tempfile.mkstemp(".et.json")
        os.close(handle)
        return ExecutionTraceObserver().register_callback(path)

    def unregister_callback(self):
        """Stop, and name no file any more."""
        self.stop()
        self._path = None

    def is_running(self):
        """Whether it is between `start` and `stop`."""
        return self._running

    def start(self):
        """Begin, if there is a file to write."""
        if self._path is not None and not self._running:
            self._running, self._profile = True, _profiler.profile()
            self._profile.__enter__()

    def stop(self):
        """Write the file."""
        if not self._running:
            return
        self._running = False
        self._profile.__exit__(None, None, None)
        root = {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1}
        nodes = [{"id": e.id + 2, "name": e.name, "ctrl_deps": 1 if e.cpu_parent is None else e.cpu_parent.id + 2, "tid": e.thread}
                 for e in self._profile.function_events]
        with open(self._path, "w", encoding="utf-8") as f:
            json.dump({"schema": "1.1.1-chakra.0.0.4", "pid": os.getpid(), "nodes": [root, *nodes]}, f)

    def cleanup(self):
        """`unregister_callback`."""
        self.unregister_callback()

    def get_output_file_path(self):
        """The file's name; None where there is none."""
        return self._path

    def set_extra_resource_collection(self, val):
        """Whether there is to be a folder for more beside the file."""
        self._extra = val
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create=False):
        """The folder for more beside the file; None where there is none."""
        return self.get_resources_dir_for_et_path(self._path, create_dir=can_create) if self._path is not None and self._extra else None

    @staticmethod
    def get_resources_dir_for_et_path(trace_path, create_dir=False):
        """The folder that belongs to a file: its name, without its ending, and "_resources"."""
        folder = os.path.splitext(trace_path)[0] + "_resources"
        if create_dir:
            os.makedirs(folder, exist_ok=True)
        return folder if os.path.isdir(folder) else None
