"""torch.accelerator.memory: figures of the accelerator's memory."""
from . import (empty_cache, empty_host_cache, get_memory_info, max_memory_allocated, max_memory_reserved, memory_allocated,  # noqa: F401
               memory_reserved, memory_stats, reset_accumulated_memory_stats, reset_peak_memory_stats)
