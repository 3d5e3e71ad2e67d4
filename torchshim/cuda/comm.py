"""torch.cuda.comm: copies between the GPUs of one process. They raise NotImplementedError: jax.sharding spreads tensors here."""
__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _absent(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.cuda.comm.{name}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__, refuse.__unimplemented__ = "NotImplementedError.", True
    return refuse


broadcast, broadcast_coalesced, gather, reduce_add, reduce_add_coalesced, scatter = map(_absent, __all__)
