"""What a DataLoader's workers do by themselves now."""
import warnings

from ...dropin import missing_attribute as _missing_attribute


def worker_init_fn(worker_id):
    """Nothing: workers take their part of a pipe by themselves. Deprecated, as in PyTorch."""
    warnings.warn("Usage of `backward_compatibility.worker_init_fn` is deprecated as `DataLoader` automatically applies sharding in every "
                  "worker", FutureWarning, stacklevel=2)


__getattr__ = _missing_attribute(__name__)
