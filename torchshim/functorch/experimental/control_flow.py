"""functorch.experimental.control_flow: names that torch and torch._higher_order_ops have now."""
from ..._control_flow import cond                  # noqa: F401
from ..._higher_order_ops.map import map           # noqa: F401
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)
