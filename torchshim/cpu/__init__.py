"""torch.cpu: the CPU asked as if it were an accelerator."""
from __future__ import annotations

import contextlib

from ..dropin import missing_attribute as _missing_attribute
from .. import engine as _engine

__all__ = ["current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device", "stream",
           "synchronize", "Stream"]


def is_available():
    """True."""
    return True


is_initialized = is_available


def device_count():
    """1."""
    return 1


def current_device():
    """Its name."""
    return "cpu"


def set_device(device):
    """There is only one."""


def synchronize(device=None):
    """Compute everything recorded so far."""
    _engine.flush()


class Stream:
    """Stands for the order that work on the CPU has anyway."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def record_event(self):
        """Nothing to record."""

    def wait_event(self, event):
        """Nothing to wait for."""


def current_stream(device=None):
    """The only stream."""
    return Stream()


@contextlib.contextmanager
def stream(stream):
    """A context that changes nothing."""
    yield


class Event:
    """Stands for a moment in the order that work on the CPU has anyway."""

    def query(self):
        """True."""
        return True

    def record(self, stream=None):
        """Nothing to record."""

    def synchronize(self):
        """Nothing to wait for."""

    def wait(self, stream=None):
        """Nothing to wait for."""


class StreamContext:
    """A context that changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        return False


def get_capabilities():
    """{name: whether the processor has it}, and the name of its architecture, as far as the system tells (Linux)."""
    from ._capabilities import found
    return found()


__getattr__ = _missing_attribute(__name__, lazy=("amp",))
