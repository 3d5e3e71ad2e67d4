"""torch.nn.attention: which of torch's kernels attention may use. XLA compiles it in one way, so the choice is kept and read back only."""
from __future__ import annotations

import contextlib

from ... import backends
from ...backends.cuda import SDPBackend
from ...dropin import missing_attribute as _missing_attribute

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]
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


__getattr__ = _missing_attribute(__name__, lazy=("bias", "flex_attention"))
