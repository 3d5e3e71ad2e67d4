"""torch.Stream and torch.Event: queues of work, and moments in them, of a device of any kind. XLA orders work by what it needs, so a
stream orders nothing; on the CPU work is done when its call returns, and there are no events to record, as in torch."""
from __future__ import annotations

import time

import jax

from ...engine import flush
from .device import accelerators as _accelerators, current_accelerator, current_cuda as _current, device as _device

__all__ = ["Event", "Stream", "synchronize"]

_NUMBERS = {"cpu": 0, "cuda": 1, "xla": 9, "meta": 14}         # torch's numbers of the kinds of devices
_WITHOUT_EVENTS = ("cpu", "meta")


def synchronize(kind):
    """Compute everything recorded so far and wait for what runs on devices of this kind."""
    flush()
    for d in _accelerators(kind):
        jax.device_put(0, d).block_until_ready()


def _read_device(name, device):
    """The device of a new stream or event: as given, else the accelerator, else the CPU."""
    if isinstance(device, int) and not isinstance(device, bool):
        accelerator = current_accelerator()
        if accelerator is None:
            raise RuntimeError("Cannot access accelerator device when none is available.")
        device = _device(accelerator.type, device)
    elif device is None:
        device = current_accelerator() or _device("cpu")
    elif isinstance(device, (str, _device)):
        device = _device(device)
    else:
        raise TypeError(f"{name}(): argument 'device' (position 1) must be torch.device, not {_kind(device)}")
    if device.type in _WITHOUT_EVENTS:
        return _device(device.type)
    if not _accelerators(device.type):
        raise RuntimeError(f"PyTorch is not linked with support for {device.type} devices")
    return _device(device.type, _current() if device.index is None and device.type == "cuda" else device.index or 0)


def _kind(value):
    return f"torch.{type(value).__name__}" if isinstance(value, (Stream, Event)) else type(value).__name__


def _keywords(name, given, known):
    for key in given:
        if key not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")


def _positions(name, args):
    if len(args) > 1:
        raise TypeError(f"{name}() takes from 0 to 1 positional arguments but {len(args)} were given")
    return args[0] if args else None


class Stream:
    """A queue of work of a device. It orders nothing here; `synchronize` waits for everything."""
    __module__ = "torch"
    stream_id = 0

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        if {"stream_id", "device_index", "device_type"} <= kwargs.keys():     # how a stream that exists is named
            _keywords("Stream", kwargs, ("stream_id", "device_index", "device_type", "priority"))
            kind = next((k for k, n in _NUMBERS.items() if n == kwargs["device_type"]), None)
            if kind is None:
                raise NotImplementedError(f"torchshim: a Stream of the device type {kwargs['device_type']}")
            self.stream_id, self._index = kwargs["stream_id"], kwargs["device_index"]
            self.device = _device(kind) if kind in _WITHOUT_EVENTS else _device(kind, self._index)
            return self
        _keywords("Stream", kwargs, ("device", "priority"))
        device = _positions("Stream", args)
        if type(kwargs.get("priority", 0)) is not int:
            raise TypeError(f"Stream(): argument 'priority' must be int, not {_kind(kwargs['priority'])}")
        self.device = _read_device("Stream", kwargs.get("device") if device is None else device)
        return self

    @property
    def device_index(self):
        """The number of the device, -1 where the kind has no numbers."""
        return getattr(self, "_index", -1 if self.device.index is None else self.device.index)

    @property
    def device_type(self):
        """torch's number of the kind of device."""
        return _NUMBERS[self.device.type]

    @property
    def native_handle(self):
        """RuntimeError: streams of XLA have no handles."""
        raise RuntimeError("Backend doesn't support getting stream native handle.")

    def is_capturing(self):
        """False: no work is captured."""
        return False

    def synchronize(self):
        """Wait for all work."""
        if self.device.type not in _WITHOUT_EVENTS:
            synchronize(self.device.type)

    def query(self):
        """Whether all work is done: it is, once asked."""
        self.synchronize()
        return True

    def wait_stream(self, stream):
        """Nothing to wait for: order follows the data."""
        if not isinstance(stream, Stream):
            raise TypeError(f"wait_stream(): argument 'stream' must be torch.Stream, not {_kind(stream)}")
        Event(stream.device).record(stream)

    def wait_event(self, event):
        """Nothing to wait for: order follows the data."""

    def record_event(self, event=None):
        """An Event after what was recorded so far."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self):
        return hash((self.device_type, self.device_index, self.stream_id))

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A moment in a queue of work: `record` waits for the work so far, `elapsed_time` gives milliseconds between two of them. The CPU
    has no events to record."""
    __module__ = "torch"
    event_id = 0
    _at = None

    def __new__(cls, *args, **kwargs):
        _keywords("Event", kwargs, ("device", "enable_timing", "blocking", "interprocess"))
        device = _positions("Event", args)
        for key in ("enable_timing", "blocking", "interprocess"):
            if not isinstance(kwargs.get(key, False), bool):
                raise TypeError(f"Event(): argument '{key}' must be bool, not {_kind(kwargs[key])}")
        self = object.__new__(cls)
        self._timing = kwargs.get("enable_timing", False)
        self.device = _read_device("Event", kwargs.get("device") if device is None else device)
        return self

    @classmethod
    def from_ipc_handle(cls, device, handle):
        """NotImplementedError, as in torch."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    def ipc_handle(self):
        """NotImplementedError, as in torch."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    def record(self, stream=None):
        """Compute what was recorded so far and note the time."""
        kind = self.device.type
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"record(): argument 'stream' must be torch.Stream, not {_kind(stream)}")
        if stream is not None and stream.device.type != kind:
            raise RuntimeError(f"Event device type {kind.upper()} does not match recording stream's device type {stream.device.type.upper()}.")
        if kind in _WITHOUT_EVENTS:
            raise RuntimeError(f"{kind} backend doesn't support events.")
        synchronize(kind)
        self._at = time.perf_counter()

    def wait(self, stream=None):
        """Nothing to wait for."""

    def query(self):
        """True: `record` has waited."""
        return True

    def synchronize(self):
        """Nothing left to wait for."""

    def elapsed_time(self, other):
        """Milliseconds from this event to another."""
        if not isinstance(other, Event):
            raise RuntimeError("expected other to be a torch.Event object")
        if not (self._timing and other._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or other._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (other._at - self._at) * 1000

    def __repr__(self):
        index = -1 if self.device.index is None else self.device.index
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag={int(self._timing)}, event_id={self.event_id}"
