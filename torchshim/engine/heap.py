"""glibc keeps some of the memory that arrays give back, instead of returning it to the system at once.

Left alone it returns what is free at the heap's end as soon as that is more than two of the largest array so far: an operator's two
temporaries of 800 KB are then mapped, zeroed and unmapped by the system each time, which took six times as long as the operator. An
allocator that cannot be told (other systems', or one that the user tuned) is left as it is.
"""
from __future__ import annotations

import ctypes
import os

KEPT = 1 << 27             # bytes at the heap's end that stay with the process
_LARGEST = 1 << 25         # arrays beyond have mappings of their own, in any case
_TRIM, _MAP = -1, -3       # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD


def keep():
    """Tell the allocator; whether it could be told."""
    if "MALLOC_TRIM_THRESHOLD_" in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ or "GLIBC_TUNABLES" in os.environ:
        return False
    tell = _function("mallopt")
    return bool(tell and tell(_MAP, _LARGEST) and tell(_TRIM, KEPT))


def give_back():
    """Return what is free to the system: a compile leaves as much as it took. Whether there was anything."""
    trim = _function("malloc_trim")
    return bool(trim and trim(ctypes.c_size_t(0)))


def _function(name):
    """The allocator's function of that name, where it has one."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
