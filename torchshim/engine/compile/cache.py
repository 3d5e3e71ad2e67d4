"""JAX's persistent compilation cache: a program compiled in one run is loaded in the next.

The cache is a setting of the whole process, so only who owns the process switches it on: the script runner (`python -m torchshim`), or
the user, with `TORCHSHIM_CACHE=1`; `TORCHSHIM_CACHE=0` keeps the runner from it. An import alone leaves JAX's settings as they were.
JAX's own setting (`JAX_COMPILATION_CACHE_DIR` or `jax.config`) goes before ours.
"""
from __future__ import annotations

import os
import pathlib

import jax

WORTH_SECONDS = 0.2        # programs that compile quicker than that are not stored


def use_persistent_cache(default="0"):
    """Give JAX a cache directory of the user's, unless it has one; `default` ("0" or "1") counts where TORCHSHIM_CACHE is not set."""
    if os.environ.get("TORCHSHIM_CACHE", default) == "0" or jax.config.jax_compilation_cache_dir:
        return
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(base) / "torchshim" / "xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_SECONDS)
