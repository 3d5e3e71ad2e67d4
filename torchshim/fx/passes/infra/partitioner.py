"""Which steps of a graph a backend takes together: partitions of those that it supports, as large as they can be without a circle."""
from __future__ import annotations

import itertools
from collections import deque

from ...node import _get_qualified_name
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

_NO_COMPUTING = ("torch.ops.aten.view", "_operator.getitem")


class Partition:
    """Steps that go together; `nodes` is a dict of them, in the order in which they came."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id, self.nodes = id, {} if nodes is None else dict.fromkeys(nodes)

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        """Let a step be one of them."""
        self.nodes[node] = None

    def remove_node(self, node):
        """Let it be none."""
        del self.nodes[node]

    def size(self):
        """Their number."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Partitions of the steps that `operator_support` takes.

    allows_single_node_partition: those of one step that computes something, too; `non_compute_ops` and
    `allowed_single_node_partition_ops` are names of operators. skip_horizontal_fusion: only steps of which one reads the other go together.
    """

    def __init__(self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None,
                 allowed_single_node_partition_ops=None, skip_horizontal_fusion=False):
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition, self.skip_horizontal_fusion = allows_single_node_partition, skip_horizontal_fusion
        self.non_compute_ops = () if non_compute_ops is None else non_compute_ops
        self.allowed_single_node_partition_ops = () if allowed_single_node_partition_ops is None else allowed_single_node_partition_ops

    def _is_node_supported(self, node):
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self):
        """A list of Partitions."""
        self.of, self.parts, self.order = {}, {}, {}
        supported, numbers = {n for n in self.graph_module.graph.nodes if self._is_node_supported(n)}, itertools.count()
        for node in reversed(self.graph_module.graph.nodes):
            together = []
            if node in supported:
                k = next(numbers)
                self.parts[k], self.of[node], self.order[k] = Partition(k, [node]), k, k
                together.append(k)
            if not self.skip_horizontal_fusion:
                together += sorted(self.parts, key=self.order.__getitem__)
            elif together:
                together += [self.of[u] for u in node.users if u in self.of]
            together = list(dict.fromkeys(together))
            own = together[0] if together else None
            for other in together[1:]:
                own = self._merged(own, other)
        self._take_getitems_along()
        if not self.allows_single_node_partition:
            for k in [k for k, part in self.parts.items() if self._computing(part) <= 1]:
                del self.parts[k]
        return [part for part in self.parts.values() if part.size()]

    def _merged(self, a, b):
        """The number under which two partitions are one now, or that of the first where a circle keeps them apart."""
        if len(self.parts[a].nodes) < len(self.parts[b].nodes):
            large, small = b, a
        else:
            large, small = a, b
        nodes = [*self.parts[large].nodes, *self.parts[small].nodes]
        if self._in_a_circle(nodes):
            return a
        for n in self.parts[small].nodes:
            self.of[n] = large
        self.parts[large].nodes.update(self.parts[small].nodes)
        self.order[large] = min(self.order[large], self.order[small])
        del self.parts[small], self.order[small]
        return large

    def _in_a_circle(self, nodes):
        """Whether a way leads out of steps and back into them, where partitions are passed as a whole."""
        own, seen = set(nodes), set()
        ready = deque([u for n in nodes for u in n.users if u not in own])
        while ready:
            n = ready.popleft()
            if n in own:
                return True
            if n in seen:
                continue
            beside = self.parts[self.of[n]].nodes if n in self.of else (n,)
            seen.update(beside)
            ready.extend([u for m in beside for u in m.users])
        return False

    def _take_getitems_along(self):
        """Parts of a step's results belong where the step does."""
        for node in self.graph_module.graph.nodes:
            if node.users and all([u.op == "call_function" and _name(u) == "_operator.getitem" for u in node.users]):
                k = self.of.get(node)
                for u in node.users:
                    if self.of.get(u) != k:
                        if u in self.of:
                            self.parts[self.of.pop(u)].remove_node(u)
                        if k is not None:
                            self.of[u] = k
                            self.parts[k].add_node(u)

    def _computing(self, part):
        idle, alone = {*_NO_COMPUTING, *self.non_compute_ops}, set(self.allowed_single_node_partition_ops)
        calls = [_name(n) for n in part.nodes if n.op == "call_function"]
        return sum([(name not in idle) + (name in alone) for name in calls])

    def fuse_partitions(self, partitions, prefix="fused_"):
        """The module with each partition as a module of its own, which it calls."""
        return fuse_by_partitions(self.graph_module, [list(part.nodes) for part in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Take out of partitions what computes nothing at their beginnings and ends."""
        idle = set(self.non_compute_ops)

        def leads_only_to_idle(node, part, along):
            stack, seen = [node], set()
            while stack:
                n = stack.pop()
                if n in seen or n not in part.nodes:
                    continue
                if not (n.op == "call_function" and _name(n) in idle):
                    return False
                seen.add(n)
                stack += along(n)
            return True
        for part in partitions:
            gone = [n for n in part.nodes if n.op == "call_function" and _name(n) in idle and (
                leads_only_to_idle(n, part, lambda m: m.all_input_nodes) or leads_only_to_idle(n, part, lambda m: m.users))]
            for n in gone:
                part.remove_node(n)

    def partition_and_fuse(self, prefix="fused_"):
        """Both."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _name(node):
    return _get_qualified_name(node.target) if callable(node.target) else str(node.target)
