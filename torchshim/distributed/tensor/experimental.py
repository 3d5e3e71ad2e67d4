"""torch.distributed.tensor.experimental: importable; what it does to DTensors raises NotImplementedError."""
import contextlib

from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, functions="context_parallel local_map register_sharding"))


@contextlib.contextmanager
def implicit_replication():
    """A context in which tensors beside DTensors count as replicated: there are no DTensors, so nothing changes."""
    yield


__getattr__ = _missing_attribute(__name__)
