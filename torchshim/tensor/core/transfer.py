"""The graph's edge between devices: the gradient goes back to where the tensor came from."""
from __future__ import annotations

from .graph import Node, node_class, sequence


class Transfer(Node):
    """Backward of a copy between devices."""
    __slots__ = ("source", "meta")

    @property
    def n_outputs(self):
        return 1

    def out_meta(self, nr):
        return self.meta

    def custom_backward(self, box, mode):
        from ..api.convert import to_device
        return [mode.back(to_device(mode.tensor(box[0]), self.source))]


def transfer_node(t, e, moved):
    node = object.__new__(node_class("ToCopyBackward0", Transfer))
    node.inst = node.plan = node.extra = None
    node.saved = node.guard = node.nums = ()
    node.next, node.seq = (e,), next(sequence)
    node.source, node.meta = t._ts_meta.device, moved._ts_meta
    return node
