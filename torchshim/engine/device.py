"""JAX's devices as the engine names them."""
from __future__ import annotations

import gc
import os

import jax

_cpu = None
forked = False             # whether this process was forked from one that used JAX: XLA's threads are not in it


def _before_fork():
    """What XLA is computing must be there: a child could wait for it for ever."""
    if _cpu is not None:
        for a in jax.live_arrays():
            if not a.is_deleted():
                a.block_until_ready()


def _in_child():
    global forked
    forked = forked or _cpu is not None
    if forked:
        gc.freeze()                            # the parent's garbage is not the child's to finalize: loaders would end workers that it has not


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def need_xla(what):
    """Refuse what would wait for ever in a forked process; NumPy's tier serves the rest."""
    if forked:
        raise RuntimeError(f"{what} needs XLA, which does not work in a process that was forked after its parent used torchshim: "
                           "start it with the multiprocessing method 'spawn' or 'forkserver', or fork before the first use")


def default_device():
    global _cpu
    if _cpu is None:
        _cpu = jax.devices("cpu")[0]
    return _cpu


def is_host(d):
    """Whether a device is the host's: NumPy computes there and a look is free. "meta" is not."""
    return d is (_cpu or default_device())


def device_name(d):
    if d == "meta":
        return "meta"
    platform = {"gpu": "cuda", "METAL": "mps"}.get(d.platform, d.platform)
    return "cpu" if platform == "cpu" else f"{platform}:{d.id}"
