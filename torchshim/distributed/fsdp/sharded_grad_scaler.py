"""torch.distributed.fsdp.sharded_grad_scaler: torch.amp.GradScaler, which with one process sees all gradients."""
from __future__ import annotations

from ...amp import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """GradScaler for gradients that are cut over processes: with one process they are whole."""
    __module__ = "torch.distributed.fsdp.sharded_grad_scaler"

    def __init__(self, device="cuda", init_scale=2.0**16, backoff_factor=0.5, growth_factor=2.0, growth_interval=2000, enabled=True,
                 process_group=None):
        super().__init__(device, init_scale=init_scale, backoff_factor=backoff_factor, growth_factor=growth_factor,
                         growth_interval=growth_interval, enabled=enabled)
