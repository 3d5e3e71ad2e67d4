"""torch._higher_order_ops: loops over tensors' slices. Nothing is captured: they are what they mean."""
from .._control_flow import cond, while_loop       # noqa: F401
from ..dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("associative_scan", "scan", "wrap"))
