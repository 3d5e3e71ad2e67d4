"""torch.fx.experimental: what libraries touch of it."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("normalize", "optimization", "proxy_tensor", "rewriter", "symbolic_shapes"))
