"""torch.mtia: Meta's accelerators, which torchshim does not use: truthful answers."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute


def is_available():
    """False."""
    return False


is_initialized = is_available


def device_count():
    """0."""
    return 0


def empty_cache():
    """Nothing to empty."""


def manual_seed(seed):
    """No stream to seed."""


manual_seed_all = manual_seed


def synchronize(device=None):
    raise AssertionError("Torch not compiled with MTIA enabled.")


def _refuse(*args, **kwargs):
    raise AssertionError("Torch not compiled with MTIA enabled.")


init = initial_seed = get_rng_state = set_rng_state = record_memory_history = snapshot = attach_out_of_memory_observer = _refuse
MTIAGraph = graph = graph_pool_handle = _refuse


def _no_backend(*args, **kwargs):
    raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")


current_device = current_stream = default_stream = set_device = set_stream = get_device_capability = get_device_properties = _no_backend
stream = StreamContext = device = _no_backend


class DeferredMtiaCallError(Exception):
    """An error of a call that waited for the device."""


def memory_stats(device=None):
    """{}."""
    return {}


def memory_allocated(device=None):
    """0."""
    return 0


max_memory_allocated = memory_allocated


def reset_peak_memory_stats(device=None):
    """Nothing to reset."""


def is_bf16_supported():
    """True, as PyTorch says without looking."""
    return True


def get_rng_state_all():
    """[]: there is no stream of random numbers."""
    return []


def set_rng_state_all(new_states):
    """No stream to set."""


def seed():
    """No stream to seed."""


seed_all = seed

__getattr__ = _missing_attribute(__name__, lazy=("memory", "mtia_graph"))
