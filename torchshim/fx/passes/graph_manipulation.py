"""Small helpers on graphs."""
from __future__ import annotations

from typing import NamedTuple

from ..graph import Graph
from ..node import map_arg

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]


class size_bytes(NamedTuple):
    """Bytes of a step: of its result and its parameters, and of its result alone."""
    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Let every step that calls one thing call another."""
    graph, made = Graph(), {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = (map_arg(a, made.__getitem__) for a in (node.args, node.kwargs))
            made[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
    fx_module.graph = graph


def get_tensor_meta(node):
    """A step's "tensor_meta". RuntimeError before ShapeProp ran."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


def get_size_of_node(fx_module, node):
    """size_bytes of a step after ShapeProp."""
    meta = get_tensor_meta(node)
    result = meta.shape.numel() * meta.dtype.itemsize
    extra = 0
    if node.op == "call_module":
        extra = sum([p.numel() * p.element_size() for p in fx_module.get_submodule(node.target).parameters()])
    return size_bytes(result, result + extra)


def get_size_of_all_nodes(fx_module, args=None):
    """Put `size_bytes` on every step; runs ShapeProp where arguments are given."""
    if args is not None:
        from .shape_prop import ShapeProp
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)
