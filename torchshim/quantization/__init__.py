"""torch.quantization: torch.ao.quantization by its older name."""
from ..ao import quantization as _home
from ..dropin import missing_attribute as _missing_attribute

_missing = _missing_attribute(__name__, lazy=("observer", "qconfig"))


def __getattr__(name):
    if name.startswith("__") or name in ("observer", "qconfig"):
        return _missing(name)
    return getattr(_home, name)
