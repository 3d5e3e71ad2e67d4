"""torch._higher_order_ops: loops over tensors' slices. Nothing is captured: they are what they mean."""
from ..dropin import missing_attribute as _missing_attribute
from .cond import cond                             # noqa: F401
from .map import map                               # noqa: F401
from .while_loop import while_loop                 # noqa: F401

__getattr__ = _missing_attribute(__name__, lazy=("associative_scan", "scan", "wrap"))
