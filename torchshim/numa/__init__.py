"""torch.numa: what launchers say of processors and memory."""
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("binding",))
