"""torch.fx.passes.utils: what passes share."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("fuser_utils", "source_matcher_utils"))
