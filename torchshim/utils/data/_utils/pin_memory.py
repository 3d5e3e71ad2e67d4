"""Batches in pinned host memory: everything in a container that has a `pin_memory` is asked for it."""
import queue
from collections.abc import Mapping, Sequence

from . import MP_STATUS_CHECK_INTERVAL, ExceptionWrapper
from ....tensor.core.tensor import Tensor


def pin_memory(data, device=None):
    """The same containers with each tensor's `pin_memory()`, and that of other objects that have one. Containers that cannot be made anew
    from their entries become dicts and lists."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        made = {k: pin_memory(x, device) for k, x in data.items()}
        return made if type(data) is dict else _as(type(data), made)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[pin_memory(x, device) for x in data])
    if isinstance(data, tuple):
        return [pin_memory(x, device) for x in data]
    if isinstance(data, Sequence):
        made = [pin_memory(x, device) for x in data]
        return made if type(data) is list else _as(type(data), made)
    return data


def _as(cls, made):
    try:
        return cls(made)
    except TypeError:
        return made


def _pin_memory_loop(in_queue, out_queue, device_id, done_event, device):
    """Of a thread: pass on (position, data) from one queue to the other with the data pinned, until the event is set."""
    def until_done(step):
        while not done_event.is_set():
            try:
                return step(timeout=MP_STATUS_CHECK_INTERVAL)
            except (queue.Empty, queue.Full):
                pass

    while not done_event.is_set():
        message = until_done(in_queue.get)
        if message is None:
            return
        at, data = message
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        until_done(lambda timeout: out_queue.put((at, data), timeout=timeout))
        del message, data
