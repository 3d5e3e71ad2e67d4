"""torch.xpu: Intel's GPUs, which torchshim does not use: truthful answers."""
from __future__ import annotations

_NONE = "Torch not compiled with XPU enabled"


def is_available():
    """False."""
    return False


is_initialized = is_available


def is_bf16_supported(including_emulation=True):
    """False."""
    return False


def device_count():
    """0."""
    return 0


def empty_cache():
    """Nothing to empty."""


def manual_seed(seed):
    """No stream to seed."""


manual_seed_all = manual_seed


def memory_allocated(device=None):
    """0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device=None):
    """Nothing to reset."""


def _refuse(*args, **kwargs):
    raise AssertionError(_NONE)


current_device = set_device = synchronize = get_device_name = get_device_properties = get_device_capability = current_stream = _refuse
get_rng_state = set_rng_state = stream = Stream = Event = device = init = _refuse
