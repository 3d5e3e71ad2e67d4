"""torch._higher_order_ops.wrap: parts of exported graphs that are called in another mode than the rest."""
from .._ops import HigherOrderOperator
from ..autograd.grad_mode import set_grad_enabled


class WrapWithSetGradEnabled(HigherOrderOperator):
    """A part of a graph, called with or without gradients."""

    def __init__(self):
        super().__init__("wrap_with_set_grad_enabled")
        self.__module__ = "torch.ops.higher_order"

    def __call__(self, enable_grad, wrapped_func, *args, **kwargs):
        with set_grad_enabled(enable_grad):
            return wrapped_func(*args, **kwargs)


wrap_with_set_grad_enabled = WrapWithSetGradEnabled()
