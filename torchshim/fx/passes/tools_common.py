"""What passes ask of steps, and graphs put in order."""
from __future__ import annotations

import heapq

from ... import Tensor
from ..graph import Graph
from ..node import _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]


def get_acc_ops_name(k):
    """The name of an operator: a string's own, the part of torch.fx's accelerated operators, or with its module."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("torch._ops", "torch.ops")
    return f"{module if module else ''}.{k.__name__}"


def get_node_target(submodules, node):
    """What a step calls, as a name: of a module its class's. AssertionError for placeholders and outputs."""
    if node.op not in ("call_function", "call_method", "call_module", "get_attr"):
        raise AssertionError(f"Expect op types of call_function, call_method, call_module, get_attr, but found {node.op}")
    if node.op == "call_module":
        submodule = submodules[node.target]
        return _typename(getattr(submodule, "_base_class_origin", type(submodule)))
    if node.op == "call_function":
        target = node.target
        return f"acc_ops.{target.__name__}" if target.__module__ and "acc_ops" in target.__module__ else _get_qualified_name(target)
    return node.target


def _typename(cls):
    from ..node import _as_torch
    return f"{_as_torch(cls.__module__)}.{cls.__qualname__}"


def is_node_output_tensor(node):
    """Whether a step is known (its `meta["type"]`) to make a tensor."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def _sorted(gm, earliest):
    """The graph anew with every step after what it reads. earliest: in the old order where that leaves a choice."""
    nodes = list(gm.graph.nodes)
    place, missing = {n: k for k, n in enumerate(nodes)}, {n: len(n.all_input_nodes) for n in nodes}
    ready = [(place[n], n) for n in nodes if not missing[n]]
    if earliest:
        heapq.heapify(ready)
    made, env = Graph(), {}
    while ready:
        _, n = heapq.heappop(ready) if earliest else ready.pop(0)
        env[n] = made.node_copy(n, lambda x: env[x])
        for user in n.users:
            missing[user] -= 1
            if not missing[user]:
                if earliest:
                    heapq.heappush(ready, (place[user], user))
                else:
                    ready.append((place[user], user))
    if len(env) < len(nodes):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n in nodes if n not in env]}")
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm


def legalize_graph(gm):
    """The module with its steps in an order that can run. RuntimeError for a circle."""
    return _sorted(gm, False)


def stable_topological_sort(gm):
    """The same, as near to the order that was there as can be."""
    return _sorted(gm, True)
