"""torch.nn.attention: which of torch's kernels attention may use. XLA compiles it in one way, so the choice is kept and read back only."""
from __future__ import annotations

import contextlib
import logging

from ... import backends
from ...backends.cuda import SDPBackend
from ...dropin import missing_attribute as _missing_attribute

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
           "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel"]
WARN_FOR_UNFUSED_KERNELS = False
_SWITCHES = {SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "mem_efficient", SDPBackend.MATH: "math",
             SDPBackend.CUDNN_ATTENTION: "cudnn"}


def _cur_sdpa_kernel_backends():
    """The kernels that are allowed."""
    return [b for b, name in _SWITCHES.items() if getattr(backends.cuda, f"{name}_sdp_enabled")()]


def _allow(chosen):
    for backend, name in _SWITCHES.items():
        getattr(backends.cuda, f"enable_{name}_sdp")(backend in chosen)


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A context in which only some kernels are allowed: an SDPBackend or a list of them. AssertionError for anything else."""
    assert isinstance(backends, (list, SDPBackend)), ("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                                                      f"{type(backends).__name__}")
    before = _cur_sdpa_kernel_backends()
    _allow({backends} if isinstance(backends, SDPBackend) else set(backends))
    try:
        yield {}
    finally:
        _allow(before)


_registered: dict = {}
_active: list = []                             # [(name, handle)] while another implementation is active


def register_flash_attention_impl(impl, *, register_fn):
    """Let `activate_flash_attention_impl(impl)` call register_fn(), which gives a handle with `remove()`, or None."""
    _registered[impl] = register_fn


def activate_flash_attention_impl(impl):
    """Activate a registered implementation; ValueError for another. torch's own, for NVIDIA's GPUs, raise NotImplementedError."""
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _registered:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = _registered[impl]()
    if handle is not None:
        _active.append((impl, handle))


def list_flash_attention_impls():
    """The names of the registered implementations."""
    return sorted(_registered)


def current_flash_attention_impl():
    """The name of the active one; None: the usual."""
    return _active[-1][0] if _active else None


def restore_flash_attention_impl(_raise_warn=True):
    """The usual implementation again."""
    if _active:
        _active.pop()[1].remove()
    elif _raise_warn:
        logging.getLogger(__name__).warning("Trying to restore default FA2 impl when no custom impl was activated")


def _of_gpus(name):
    def register():
        raise NotImplementedError(f"torchshim: the attention kernels of {name}; XLA compiles attention")
    register_flash_attention_impl(name, register_fn=register)


_of_gpus("FA3")
_of_gpus("FA4")

__getattr__ = _missing_attribute(__name__, lazy=("bias", "experimental", "flex_attention", "varlen"))
