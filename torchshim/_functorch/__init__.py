"""torch._functorch: the names that programs touch. JAX differentiates and XLA partitions here."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("aot_autograd", "compilers", "config", "partitioners", "vmap"))
