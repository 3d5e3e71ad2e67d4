"""JAX's persistent compilation cache, on by default: a program compiled in one run is loaded in the next.

`TORCHSHIM_CACHE=0` switches it off; JAX's own setting (`JAX_COMPILATION_CACHE_DIR` or `jax.config`) goes before ours.
"""
from __future__ import annotations

import os
import pathlib

import jax

WORTH_SECONDS = 0.2        # programs that compile quicker than that are not stored


def use_persistent_cache():
    """Give JAX a cache directory of the user's, unless it has one or is not to have any."""
    if os.environ.get("TORCHSHIM_CACHE", "") == "0" or jax.config.jax_compilation_cache_dir:
        return
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(base) / "torchshim" / "xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_SECONDS)
