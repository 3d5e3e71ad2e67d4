"""torch.mps: Apple's GPUs, which torchshim does not use: truthful answers."""
from __future__ import annotations

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


def get_rng_state():
    raise RuntimeError(_NONE)


def set_rng_state(new_state):
    raise RuntimeError(_NONE)


def current_allocated_memory():
    """0."""
    return 0


driver_allocated_memory = recommended_max_memory = current_allocated_memory


def set_per_process_memory_fraction(fraction):
    raise RuntimeError(_NONE)
