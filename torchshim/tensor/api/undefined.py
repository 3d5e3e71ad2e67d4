"""Results that torch gives a history which no gradient can go through."""
from __future__ import annotations

from ...engine import context
from ..core.graph import Node, node_class, sequence
from ..core.handle import TensorBase, edge


class _Undefined(Node):
    """The history of a result that torch can't differentiate; a backward that comes here fails, or ends where there is no `error`."""
    __slots__ = ("meta", "error")
    _ts_n_outputs = 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_places(self, per_edge):
        return per_edge

    def _ts_custom_backward(self, box, mode):
        if self.error is None:
            return [None] * len(self._ts_next)
        raise self.error


def undefined(result, sources, name, error):
    """`result` with a node called `name` that raises `error` (None: that leads nowhere), when one of `sources` (anything; tensors count)
    wants a gradient."""
    edges = tuple([edge(s) if isinstance(s, TensorBase) else None for s in sources])
    if context.grad and edges != (None,) * len(edges):
        node = object.__new__(node_class(name, _Undefined))
        node._ts_inst = node._ts_plan = node._ts_extra = None
        node._ts_saved, node._ts_guard, node._ts_nums, node._ts_next, node._ts_seq = [], (), (), edges, next(sequence)
        node.meta, node.error = result._ts_meta, error
        result._ts_edge = node
    return result


def no_derivative(result, sources, what):
    """`result` of an operator that has no derivative at all; `what` is the operator's name in the error. Those that torch names with their
    namespace have edges to what wants a gradient alone."""
    if what.startswith("aten::"):
        sources = [s for s in sources if isinstance(s, TensorBase) and edge(s) is not None]
    return undefined(result, sources, "NotImplemented", RuntimeError(f"derivative for {what} is not implemented"))
