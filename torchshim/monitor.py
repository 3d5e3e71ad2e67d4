"""torch.monitor: events and statistics of a running program, for handlers that keep them."""
from __future__ import annotations

import datetime
import enum
import threading
import time

from .dropin import missing_attribute as _missing_attribute

__all__ = ["Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event",
           "register_event_handler", "unregister_event_handler"]

STAT_EVENT = "torch.monitor.Stat"
_handlers: list = []
_lock = threading.RLock()


class Aggregation(enum.Enum):
    """What a Stat tells of the numbers in its window."""
    VALUE, MEAN, COUNT, SUM, MAX, MIN = 0, 2, 3, 4, 5, 6

    def __int__(self):
        return self.value


class data_value_t:
    """What an event may hold: str, float, int, bool."""

    def __init__(self):
        raise TypeError("torch._C._monitor.data_value_t: No constructor defined!")


class Event:
    """Something that happened: `name`, `timestamp` (a datetime), `data` ({str: str, int, float or bool, which becomes a float})."""

    def __init__(self, name, timestamp, data):
        fits = isinstance(name, str) and isinstance(timestamp, datetime.datetime) and isinstance(data, dict) and all(
            [isinstance(k, str) and isinstance(v, (str, int, float)) for k, v in data.items()])
        if not fits:
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            "    1. torch._C._monitor.Event(name: str, timestamp: datetime.datetime, data: collections.abc.Mapping[str, "
                            f"data_value_t])\n\nInvoked with: {name!r}, {timestamp!r}, {data!r}")
        self.name, self.timestamp = name, timestamp
        self.data = {k: float(v) if isinstance(v, bool) else v for k, v in data.items()}


class EventHandlerHandle:
    """A registered handler; see `unregister_event_handler`."""

    def __init__(self, handler):
        self._handler = handler


def register_event_handler(callback):
    """Call `callback(event)` at each event from now on; gives a handle to end it."""
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler):
    """End what `register_event_handler` began; nothing happens a second time."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event):
    """Show an Event to the handlers."""
    if not isinstance(event, Event):
        raise TypeError("log_event(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (event: torch._C._monitor.Event) -> None\n\nInvoked with: {event!r}")
    with _lock:
        handlers = list(_handlers)
    for handle in handlers:
        handle._handler(event)


_TOLD = {Aggregation.MEAN: lambda xs: sum(xs) / len(xs), Aggregation.COUNT: len, Aggregation.SUM: sum, Aggregation.MAX: max,
         Aggregation.MIN: min}


class Stat:
    """Numbers put together over windows of time: at the end of each a `torch.monitor.Stat` event tells what `aggregations` ask for.

    window_size: a timedelta; windows begin at its multiples. max_samples: the event comes after as many, and further numbers of its window
    are dropped. An end is noticed at the next `add` or `get`. VALUE tells nothing, as in PyTorch 2.13.
    """

    def __init__(self, name, aggregations, window_size, max_samples=-1):
        if not isinstance(window_size, datetime.timedelta) or not all([isinstance(a, Aggregation) for a in aggregations]):
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            "    1. torch._C._monitor.Stat(name: str, aggregations: "
                            "collections.abc.Sequence[torch._C._monitor.Aggregation], window_size: datetime.timedelta, max_samples: "
                            f"typing.SupportsInt = 9223372036854775807)\n\nInvoked with: {name!r}, {aggregations!r}, {window_size!r}, "
                            f"{max_samples!r}")
        self._name, self._told = name, [a for a in dict.fromkeys(aggregations) if a in _TOLD]
        self._size, self._most = window_size.total_seconds(), max_samples
        self._samples, self._closed, self._full = [], dict.fromkeys(self._told, 0.0), False
        self._window, self._guard = self._now(), threading.RLock()

    name = property(lambda self: self._name, doc="What events call it.")

    @property
    def count(self):
        """How many numbers the window has so far."""
        return len(self._samples)

    def _now(self):
        return int(time.monotonic() / self._size) if self._size > 0 else time.monotonic_ns()

    def _close(self):
        if self._samples:
            self._closed = {a: float(_TOLD[a](self._samples)) for a in self._told}
            self._samples = []
            log_event(Event(STAT_EVENT, datetime.datetime.now(), {f"{self._name}.{a.name.lower()}": v for a, v in self._closed.items()}))

    def _look(self):
        now = self._now()
        if now != self._window:
            self._close()
            self._window, self._full = now, False

    def add(self, v):
        """Another number."""
        with self._guard:
            self._look()
            if self._full:
                return
            self._samples.append(float(v))
            if 0 < self._most <= len(self._samples):
                self._close()
                self._full = True

    def get(self):
        """{Aggregation: value} of the last window that ended; zeros before."""
        with self._guard:
            self._look()
            return dict(self._closed)


class TensorboardEventHandler:
    """A handler that writes the numbers of `Stat` events with a SummaryWriter."""

    def __init__(self, writer):
        self._writer = writer

    def __call__(self, event):
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())


__getattr__ = _missing_attribute(__name__)
