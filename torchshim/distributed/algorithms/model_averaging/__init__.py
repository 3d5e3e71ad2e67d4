"""Processes that train by themselves for some steps, and then take the mean of their parameters."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("averagers", "utils"))
