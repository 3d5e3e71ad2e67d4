"""torch._dynamo.utils: what libraries ask of it before they compile something of their own."""
import collections as _collections
import warnings as _warnings

from .. import device as _device
from ..dropin import missing_attribute as _missing_attribute


def is_compile_supported(device_type):
    """Whether `torch.compile` works for a device: it does on every one that JAX has."""
    return _device(device_type).type in ("cpu", "cuda")


counters = _collections.defaultdict(_collections.Counter)      # {"stats": {"unique_graphs": how many backends got, ...}}
_said = set()


def warn_once(msg, stacklevel=1):
    """Warns with `msg` the first time it is given; later calls with the same text are silent, whatever the filters say."""
    if msg not in _said:
        _said.add(msg)
        _warnings.warn(msg, stacklevel=stacklevel + 1)


__getattr__ = _missing_attribute(__name__)
