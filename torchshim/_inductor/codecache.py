"""torch._inductor.codecache: importable; XLA keeps its own cache of what it has compiled."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
