"""torch.nn.attention.experimental: nothing yet."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
