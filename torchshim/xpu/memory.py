"""torch.xpu.memory: figures of the memory of Intel's GPUs, of which there are none."""
from . import (empty_cache, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated, memory_reserved,        # noqa: F401
               memory_stats, memory_stats_as_nested_dict, reset_accumulated_memory_stats, reset_peak_memory_stats)
