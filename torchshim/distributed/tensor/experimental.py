"""torch.distributed.tensor.experimental: importable; what it does to DTensors raises NotImplementedError."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, functions="context_parallel implicit_replication local_map"))
__getattr__ = _missing_attribute(__name__)
