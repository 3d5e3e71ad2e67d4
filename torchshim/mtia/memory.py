"""torch.mtia.memory: figures of the memory of a device that is not there."""
from . import max_memory_allocated, memory_allocated, memory_stats, reset_peak_memory_stats        # noqa: F401
