"""What pipes are made with."""
from .....dropin import missing_attribute as _missing_attribute
from . import common, decoder, snapshot

__getattr__ = _missing_attribute(__name__)
