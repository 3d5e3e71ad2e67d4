"""torch._higher_order_ops.while_loop: where torch keeps it."""
from .._control_flow import while_loop             # noqa: F401
