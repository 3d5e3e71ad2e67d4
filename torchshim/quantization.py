"""torch.quantization: the older name of torch.ao.quantization, which is the same module."""
from .ao import quantization as _home
from .dropin.old_names import stands_for as _stands_for

_stands_for(__name__, _home)
