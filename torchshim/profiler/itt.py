"""torch.profiler.itt: ranges for Intel's profiler, which is not told: they do nothing (see jax.profiler)."""
from __future__ import annotations

import contextlib

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available():
    """False."""
    return False


def range_push(msg):
    """0, the number of a range."""
    return 0


def range_pop():
    """The end of a range."""
    return 0


def mark(msg):
    """A moment."""


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """A context for a range."""
    yield
