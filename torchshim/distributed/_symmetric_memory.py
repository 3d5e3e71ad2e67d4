"""torch.distributed._symmetric_memory: importable; memory that GPUs share raises NotImplementedError."""
from ..dropin import missing_attribute as _missing_attribute
from ._absent import absent_names

globals().update(absent_names(__name__, functions="empty rendezvous enable_symm_mem_for_group get_symm_mem_workspace"))
__getattr__ = _missing_attribute(__name__)
