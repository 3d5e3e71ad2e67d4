"""torch.cuda.profiler: NVIDIA's profiler, told where to begin. Without a GPU it refuses as PyTorch does; with one see jax.profiler."""
from __future__ import annotations

import contextlib

from . import _refused

__all__ = ["init", "start", "stop", "profile"]

init, start, stop = [_refused.function("torch.cuda.profiler", n) for n in ("init", "start", "stop")]


@contextlib.contextmanager
def profile():
    """A context that is profiled."""
    start()
    try:
        yield
    finally:
        stop()
