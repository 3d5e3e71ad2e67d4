"""torch._export: what torch.export is made of, as far as libraries name it."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("verifier",))
