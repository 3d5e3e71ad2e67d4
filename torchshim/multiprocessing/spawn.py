"""`spawn`: run a function in several processes, and raise here what was raised there."""
from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """A process that did not end well."""
    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It raised an exception."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """It exited with a code other than 0, or by a signal."""
    __slots__ = ["exit_code"]

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _wrap(fn, i, args, error_file):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass                                   # the parent has been told too
    except Exception:
        with open(error_file, "wb") as f:
            pickle.dump(traceback.format_exc(), f)
        sys.exit(1)


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: k for k, p in enumerate(processes)}

    def pids(self):
        """Their process ids."""
        return [p.pid for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait for some to end; True when all have. If one failed, the others are ended and an exception says what happened."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            k = self.sentinels.pop(sentinel)
            self.processes[k].join()
            if self.processes[k].exitcode != 0:
                failed = k
                break
        if failed is None:
            return not self.sentinels
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join(grace_period)
            if p.is_alive():
                p.kill()
                p.join()
        self._raise(failed)

    def _raise(self, k):
        p = self.processes[k]
        if os.path.getsize(self.error_files[k]):
            with open(self.error_files[k], "rb") as f:
                text = pickle.load(f)
            raise ProcessRaisedException(f"\n\n-- Process {k} terminated with the following error:\n{text}", k, p.pid)
        if p.exitcode < 0:
            try:
                name = signal.Signals(-p.exitcode).name
            except ValueError:
                name = f"<Unknown signal {-p.exitcode}>"
            raise ProcessExitedException(f"process {k} terminated with signal {name}", k, p.pid, p.exitcode, name)
        raise ProcessExitedException(f"process {k} terminated with exit code {p.exitcode}", k, p.pid, p.exitcode)

    def __del__(self):
        for name in self.error_files:
            if os.path.exists(name):
                os.unlink(name)


class SpawnContext(ProcessContext):
    """The processes that `spawn` started."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run fn(i, *args) for i < nprocs, each in a process of its own that `start_method` starts.

    join: wait for all of them and return None; else a ProcessContext is returned. ProcessRaisedException or ProcessExitedException if one
    fails.
    """
    context, processes, files = multiprocessing.get_context(start_method), [], []
    for i in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="pytorch-errorfile-", suffix=".pickle", delete=False) as f:
            files.append(f.name)
        processes.append(context.Process(target=_wrap, args=(fn, i, args, files[-1]), daemon=daemon))
        processes[-1].start()
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` with fresh interpreters: fn and args are pickled, fn by its name."""
    if start_method != "spawn":
        warnings.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t "
                      "torch.multiprocessing.start_processes(...)", FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
