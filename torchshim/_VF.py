"""torch._VF: torch's functions without what Python adds to them, where copies of PyTorch's own modules look for them."""
from .dropin import missing_attribute as _missing_attribute
from .tensor.api.bind import FUNCTIONS as _functions

_lacking = _missing_attribute(__name__)


def __getattr__(name):
    return _functions[name] if name in _functions else _lacking(name)


def __dir__():
    return sorted(_functions)
