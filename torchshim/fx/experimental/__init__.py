"""torch.fx.experimental: what libraries touch of it."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("optimization", "proxy_tensor", "symbolic_shapes"))
