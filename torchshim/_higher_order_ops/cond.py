"""torch._higher_order_ops.cond: a branch that depends on a value, as exported graphs call it."""
from .._control_flow import cond
from .._ops import HigherOrderOperator


class CondOp(HigherOrderOperator):
    """One of two parts of a graph, by a value."""

    def __init__(self):
        super().__init__("cond")
        self.__module__ = "torch.ops.higher_order"

    def __call__(self, pred, true_fn, false_fn, operands=()):
        return cond(pred, true_fn, false_fn, operands)


cond_op = CondOp()
