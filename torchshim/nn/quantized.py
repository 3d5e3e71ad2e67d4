"""torch.nn.quantized: the older name of torch.ao.nn.quantized, which is the same module."""
from ..ao.nn import quantized as _home
from ..dropin.old_names import stands_for as _stands_for

_stands_for(__name__, _home)
