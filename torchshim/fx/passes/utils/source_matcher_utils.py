"""torch.fx.passes.utils.source_matcher_utils: which steps of a graph came of a module's class or of a function."""
from __future__ import annotations

import dataclasses
from typing import Any

from ...node import Node, _as_torch

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclasses.dataclass
class SourcePartition:
    """The steps of one call. input_nodes, output_nodes: what these read from others, and what others read of them; params:
    get_attr steps."""
    nodes: list
    source: Any
    input_nodes: list = dataclasses.field(default_factory=list)
    output_nodes: list = dataclasses.field(default_factory=list)
    params: list = dataclasses.field(default_factory=list)


def _sources(node):
    """(what a step came of, the call's name)."""
    stack = node.meta.get("source_fn_stack")
    if stack:
        yield stack[-1][1], stack[-1][0]
        return
    if node.meta.get("torch_fn") is not None:
        call, name = node.meta["torch_fn"]
        yield name.rpartition(".")[2], call
    modules = node.meta.get("nn_module_stack")
    if modules:
        path, kind = list(modules.values())[-1]
        yield kind, path


def _wanted(source, kind):
    if source == kind:
        return True
    return isinstance(source, type) and kind == f"{_as_torch(source.__module__)}.{source.__qualname__}"


def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: its SourcePartitions}: of modules' classes, of names of functions, as far as the graph's steps say. filter_fn: of which
    steps all of a partition have to be."""
    found = {}
    for node in graph.nodes:
        for kind, call in _sources(node):
            for source in wanted_sources:
                if _wanted(source, kind):
                    found.setdefault(source, {}).setdefault(call, []).append(node)
    made = {source: [_partition(nodes, source) for nodes in calls.values()] for source, calls in found.items()}
    if filter_fn is not None:
        made = {source: [p for p in parts if all([filter_fn(n) for n in p.nodes])] for source, parts in made.items()}
        made = {source: parts for source, parts in made.items() if parts}
    return made


def _partition(nodes, source):
    inputs, outputs, params = {}, {}, {}
    for node in nodes:
        for a in node.args:
            if isinstance(a, Node) and a not in nodes:
                inputs[a] = None
        if node.op == "get_attr":
            params[node] = None
        for user in node.users:
            if user not in nodes:
                outputs[node] = None
    return SourcePartition(nodes, source, list(inputs), list(outputs), list(params))


def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether the second reads what the first makes."""
    return any([node in subgraph1.nodes for node in subgraph2.input_nodes])
