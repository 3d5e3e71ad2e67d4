"""JAX's devices as the engine names them."""
from __future__ import annotations

import jax

_cpu = None


def default_device():
    global _cpu
    if _cpu is None:
        _cpu = jax.devices("cpu")[0]
    return _cpu


def device_name(d):
    if d == "meta":
        return "meta"
    platform = {"gpu": "cuda", "METAL": "mps"}.get(d.platform, d.platform)
    return "cpu" if platform == "cpu" else f"{platform}:{d.id}"
