"""torch.autograd.profiler_legacy: the profile that was there before; the same as today's here."""
from .profiler import profile

__all__ = ["profile"]
