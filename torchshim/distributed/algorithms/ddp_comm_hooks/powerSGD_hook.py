"""Gradients of several processes combined by PowerSGD: NotImplementedError."""
from ....dropin import missing_attribute as _missing_attribute
from ..._absent import absent_names

globals().update(absent_names(__name__, classes="PowerSGDState", functions="powerSGD_hook batched_powerSGD_hook"))
__getattr__ = _missing_attribute(__name__)
