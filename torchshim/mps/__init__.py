"""torch.mps: Apple's GPUs, which torchshim does not use: truthful answers."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute

_NONE = "torchshim: there is no MPS device"


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def synchronize():
    raise RuntimeError(_NONE)


def empty_cache():
    """Nothing to empty."""


def manual_seed(seed):
    """No stream to seed."""


def seed():
    """No stream to seed."""


def get_rng_state(device="mps"):
    raise RuntimeError(_NONE)


def set_rng_state(new_state, device="mps"):
    raise RuntimeError(_NONE)


def current_allocated_memory():
    """0."""
    return 0


driver_allocated_memory = recommended_max_memory = current_allocated_memory


def set_per_process_memory_fraction(fraction):
    raise RuntimeError(_NONE)


def compile_shader(source):
    raise RuntimeError("MPS is not available")


def load_metallib(path):
    raise RuntimeError("MPS is not available")


class Event:
    """RuntimeError when made: there is no MPS device."""

    def __new__(cls, enable_timing=False):
        raise RuntimeError("Cannot execute acquireEvent() without MPS backend.")


__getattr__ = _missing_attribute(__name__, lazy=("event", "profiler"))
