"""torch.mtia: Meta's accelerators, which torchshim does not use: truthful answers."""
from __future__ import annotations


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
