"""Results that torch gives a history which no gradient can go through, or only that of all of them."""
from __future__ import annotations

from ...engine import context
from ..core.graph import Node, node_class, sequence
from ..core.handle import TensorBase, edge


class _Undefined(Node):
    """The history of a result that torch can't differentiate; a backward that comes here fails."""
    __slots__ = ("meta", "error")
    _ts_n_outputs = 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_places(self, per_edge):
        return per_edge

    def _ts_custom_backward(self, box, mode):
        raise self.error


class _Together(Node):
    """The history of results whose cotangents count where all have one, as in torch; else nothing goes on."""
    __slots__ = ("metas",)

    @property
    def _ts_n_outputs(self):
        return len(self.metas)

    def _ts_out_meta(self, nr):
        return self.metas[nr]

    def _ts_places(self, per_edge):
        return per_edge

    def _ts_custom_backward(self, box, mode):
        n = len(self.metas)
        return [box[k] for k in range(n)] if len(box) == n else [None] * n


def together(results, name):
    """`results` with a node called `name` that passes their cotangents on where all have one, when they have histories."""
    edges = tuple([edge(r) for r in results])
    if edges != (None,) * len(edges):
        node = _bare(name, _Together, edges)
        node.metas = [r._ts_meta for r in results]
        for k, r in enumerate(results):
            r._ts_edge = node, k
    return results


def _bare(name, kind, edges):
    node = object.__new__(node_class(name, kind))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved, node._ts_guard, node._ts_nums, node._ts_next, node._ts_seq = [], (), (), edges, next(sequence)
    return node


def undefined(result, sources, name, error):
    """`result` with a node called `name` that raises `error`, when one of `sources` (anything; tensors count) wants a gradient."""
    edges = tuple([edge(s) if isinstance(s, TensorBase) else None for s in sources])
    if context.grad and edges != (None,) * len(edges):
        node = _bare(name, _Undefined, edges)
        node.meta, node.error = result._ts_meta, error
        result._ts_edge = node
    return result


def no_derivative(result, sources, what):
    """`result` of an operator that has no derivative at all; `what` is the operator's name in the error. Those that torch names with their
    namespace have edges to what wants a gradient alone."""
    if what.startswith("aten::"):
        sources = [s for s in sources if isinstance(s, TensorBase) and edge(s) is not None]
    return undefined(result, sources, "NotImplemented", RuntimeError(f"derivative for {what} is not implemented"))
