"""torch.cuda.nvtx: ranges for NVIDIA's profiler; use jax.profiler instead. These do nothing."""
from __future__ import annotations

import contextlib

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg):
    """0, how deep the ranges are nested."""
    return 0


def range_pop():
    """0, how deep the ranges were nested."""
    return 0


def mark(msg):
    """A moment."""


def range_start(msg):
    """0, the number of a range."""
    return 0


def range_end(range_id):
    """The end of a range."""


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A context, or a decorator, for a range."""
    yield


__getattr__ = _missing_attribute(__name__)
