"""How processes that were started together tell of their errors: `record` writes what a main function raised to the file that
TORCHELASTIC_ERROR_FILE names, `ProcessFailure` reads it, `ChildFailedError` shows the failures of all."""
from __future__ import annotations

import dataclasses
import datetime
import faulthandler
import functools
import json
import os
import signal
import socket
import time
import traceback
import warnings

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]


class ErrorHandler:
    """Writes a process's exception to its error file."""

    def _get_error_file_path(self):
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self):
        """Called before the main function: fatal signals print where they came."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as e:                 # a stream without a file descriptor
            warnings.warn(f"Unable to enable fault handler. {type(e).__name__}: {e}", stacklevel=2)

    def _write_error_file(self, file_path, error_msg):
        with open(file_path, "w") as f:
            f.write(error_msg)

    def record_exception(self, e):
        """Write an exception, with its traceback and the time, to the error file where there is one."""
        path = self._get_error_file_path()
        if path:
            self._write_error_file(path, json.dumps({"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": {
                "py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}}}))

    def override_error_code_in_rootcause_data(self, rootcause_error_file, rootcause_error, error_code=0):
        """Put an exit code into what a process wrote."""
        if "message" in rootcause_error and not isinstance(rootcause_error["message"], str):
            rootcause_error["message"]["errorCode"] = error_code

    def dump_error_file(self, rootcause_error_file, error_code=0):
        """Copy a process's error file to this process's."""
        with open(rootcause_error_file) as f:
            said = json.load(f)
        if error_code:
            self.override_error_code_in_rootcause_data(rootcause_error_file, said, error_code)
        path = self._get_error_file_path()
        if path:
            self._write_error_file(path, json.dumps(said))


def get_error_handler():
    """An ErrorHandler."""
    return ErrorHandler()


@dataclasses.dataclass
class ProcessFailure:
    """What is known of a process that failed: `message` and `timestamp` are those of its error file, where it wrote one."""
    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict = dataclasses.field(init=False)
    message: str = dataclasses.field(init=False)
    timestamp: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.error_file_data, self.message, self.timestamp = {}, "", int(time.time())
        if os.path.isfile(self.error_file):
            with open(self.error_file) as f:
                self.error_file_data = json.load(f)
            said = self.error_file_data.get("message", "")
            self.message = said if isinstance(said, str) else said.get("message", "")
            if not isinstance(said, str):
                self.timestamp = int(said.get("extraInfo", {}).get("timestamp", self.timestamp))
        elif self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        else:
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self):
        """The name of the signal that ended it, or <N/A>."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<Unknown signal>"

    def timestamp_isoformat(self):
        """When it failed."""
        return datetime.datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


_BORDER, _LINE = "=" * 60, "-" * 60


class ChildFailedError(Exception):
    """Processes of a program failed. `failures`: {rank: ProcessFailure}."""

    def __init__(self, name, failures):
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("Exception needs at least one failure")
        super().__init__(self.format_msg())

    def get_first_failure(self):
        """(rank, failure) of the first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim=None, section_delim=None):
        """The failures as text, the first at the end."""
        first, _ = self.get_first_failure()
        others = [self._shown(k, rank) for k, rank in enumerate([r for r in self.failures if r != first])]
        return "\n".join([f"\n{boarder_delim or _BORDER}", f"{self.name} FAILED", section_delim or _LINE, "Failures:",
                          "\n".join(others) or "  <NO_OTHER_FAILURES>", section_delim or _LINE, "Root Cause (first observed failure):",
                          self._shown(0, first), boarder_delim or _BORDER])

    def _shown(self, k, rank):
        f = self.failures[rank]
        code = f"exitcode  : {f.exitcode} (pid: {f.pid})"
        message = str(f.message).replace("\n", "\n  ")
        return (f"[{k}]:\n  time      : {f.timestamp_isoformat()}\n  host      : {socket.getfqdn()}\n  rank      : {rank} (local_rank: "
                f"{f.local_rank})\n  {code}\n  error_file: {f.error_file}\n  traceback : {message}")


def record(fn, error_handler=None):
    """A decorator of the main function: what it raises is written to the error file, and raised."""
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def run(*args, **kwargs):
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as e:
            if e.code:
                handler.record_exception(e)
            raise
        except ChildFailedError as e:
            _, failure = e.get_first_failure()
            if failure.error_file != "<N/A>":
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as e:
            handler.record_exception(e)
            raise
    return run
