"""torch.cpu.amp.autocast."""
from __future__ import annotations

import warnings

from ... import amp, bfloat16

__all__ = ["autocast"]


class autocast(amp.autocast):
    """torch.amp.autocast for "cpu"; deprecated."""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        warnings.warn("`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
                      FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
