"""torch.cuda.amp.autocast."""
from __future__ import annotations

import warnings

from ... import amp, float16
from ...amp.autocast_mode import _cast    # noqa: F401

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """torch.amp.autocast for "cuda"; deprecated."""

    def __init__(self, enabled=True, dtype=float16, cache_enabled=True):
        warnings.warn("`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
                      FutureWarning, stacklevel=2)
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """torch.amp.custom_fwd for "cuda"; deprecated."""
    _warn("custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """torch.amp.custom_bwd for "cuda"; deprecated."""
    _warn("custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")


def _warn(name):
    warnings.warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., device_type='cuda')` instead.",
                  FutureWarning, stacklevel=3)
