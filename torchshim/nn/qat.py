"""torch.nn.qat: the older name of torch.ao.nn.qat, which is the same module."""
from ..ao.nn import qat as _home
from ..dropin.old_names import stands_for as _stands_for

_stands_for(__name__, _home)
