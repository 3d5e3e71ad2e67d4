"""torch.nested._internal: names of the jagged layout's parts that libraries ask for."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
