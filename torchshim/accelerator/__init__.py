"""torch.accelerator: the device that speeds things up, whatever its kind."""
from __future__ import annotations

from .. import device as _device
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.core.device import accelerators as _accelerators, current_accelerator as _accelerator, current_cuda as _current
from ..tensor.core.streams import synchronize as _wait

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index",
           "is_available",
           "set_device_idx", "set_device_index", "set_stream", "synchronize", "empty_cache", "max_memory_allocated", "max_memory_reserved",
           "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"]


def current_accelerator(check_available=False):
    """`torch.device("cuda")` where JAX has a GPU, `torch.device("tpu")` where it has a TPU, else None."""
    return _accelerator()


def is_available():
    """Whether there is one."""
    return current_accelerator() is not None


def device_count():
    """How many there are."""
    d = current_accelerator()
    return 0 if d is None else len(_accelerators(d.type))


def _needed():
    d = current_accelerator()
    if d is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return d


def current_device_index():
    """The number of the device that is used by default."""
    return _current() if _needed().type == "cuda" else 0


current_device_idx = current_device_index


def set_device_index(device, /):
    """Choose the default device."""
    kind = _needed().type
    k = device if isinstance(device, int) else _device(device).index or 0
    if kind != "cuda" and k:
        raise NotImplementedError(f"torchshim: torch.accelerator.set_device_index beyond the first {kind} device; name the device instead")
    if kind == "cuda":
        from ..cuda import set_device
        set_device(k)


set_device_idx = set_device_index


class device_index:
    """A context in which this device is the default one."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            self.before = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc):
        if self.idx is not None:
            set_device_index(self.before)
        return False


def current_stream(device=None, /):
    """The only stream there is; see torch.cuda.Stream."""
    from ..cuda import Stream
    _needed()
    return Stream()


def set_stream(stream):
    """All streams are one."""
    _needed()


def synchronize(device=None, /):
    """Compute everything recorded so far and wait for it."""
    _wait(_needed().type)


from ..cuda import (empty_cache, max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved, memory_stats,   # noqa: E402
                    reset_accumulated_memory_stats, reset_peak_memory_stats)


def get_memory_info(device_index=None, /):
    """(free, all) bytes of the accelerator's memory."""
    from ..cuda import mem_get_info
    _needed()
    return mem_get_info(device_index)


def get_device_capability(device_index=None, /):
    """What the accelerator can: {"supported_dtypes": set of dtypes}."""
    from .. import bfloat16, bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8
    _needed()
    return {"supported_dtypes": {bfloat16, bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8}}


def empty_host_cache():
    """Nothing to empty: no host memory is pinned."""
    _needed()


class Graph:
    """Refuses to be made: RuntimeError without an accelerator, else NotImplementedError."""

    def __new__(cls, *args, **kwargs):
        _needed()
        raise NotImplementedError("torchshim: torch.accelerator.Graph; what repeats becomes one XLA program by itself")


__getattr__ = _missing_attribute(__name__, lazy=("memory", "graphs"))
