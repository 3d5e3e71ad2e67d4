"""torch.xpu: Intel's GPUs, which torchshim does not use: truthful answers."""
from __future__ import annotations

import collections as _collections

from ..cpu import StreamContext
from ..dropin import missing_attribute as _missing_attribute

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
get_rng_state = set_rng_state = stream = Stream = Event = device = init = initial_seed = mem_get_info = can_device_access_peer = _refuse
get_stream_from_external = get_per_process_memory_fraction = set_per_process_memory_fraction = _refuse
clock_rate = device_memory_used = memory_usage = power_draw = temperature = utilization = memory_snapshot = _refuse
change_current_allocator = XPUPluggableAllocator = MemPool = XPUGraph = graph = graph_pool_handle = make_graphed_callables = _refuse
use_mem_pool = device_of = _refuse
default_generators = ()


def get_rng_state_all():
    """[]: there is no stream of random numbers."""
    return []


def set_rng_state_all(new_states):
    """No stream to set."""


def seed():
    """No stream to seed."""


seed_all = seed


def memory_stats(device=None):
    """{}."""
    return _collections.OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """{}."""
    return {}


def reset_accumulated_memory_stats(device=None):
    """Nothing to reset."""


def is_current_stream_capturing():
    """False: nothing is captured."""
    return False


def is_tf32_supported():
    """False."""
    return False


def set_stream(stream):
    """There is none to set."""


def get_arch_list():
    """[]."""
    return []


def get_gencode_flags():
    """""."""
    return ""


__getattr__ = _missing_attribute(__name__, lazy=("random", "memory", "streams", "graphs"))
