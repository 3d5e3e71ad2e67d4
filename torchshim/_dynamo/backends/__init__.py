"""torch._dynamo.backends: who gets graphs."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("common", "debugging", "registry"))
