"""Cut a graph into modules that call each other's results."""
from __future__ import annotations

import copy
import operator

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One of the modules: its steps, what it needs from others and what others need from it."""

    def __init__(self, name):
        self.name, self.submod_name, self.node_names = name, f"submod_{name}", []
        self.inputs, self.outputs, self.dependencies, self.dependents = {}, {}, {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}

    def __repr__(self):
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: {list(self.outputs)},\n "
                f"partitions depended on: {list(self.dependencies)},\n partition dependents: {list(self.dependents)}")


def _attribute(module, target):
    for part in target.split("."):
        if not hasattr(module, part):
            raise AttributeError(f"Node referenced nonexistent target {target!r}")
        module = getattr(module, part)
    return module


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):
    """A GraphModule whose steps are calls of GraphModules, `submod_0`, `submod_1` …, that do what `m` does.

    m: a GraphModule; root_m: the module that has its attributes; split_callback(step): the key of the part it belongs to.
    qualname_map: gets {name of an attribute in the result: its name in m}. RuntimeError where parts wait for each other.
    """
    if keep_original_input_name is not True or partition_affix or tuple_return:
        raise NotImplementedError("torchshim: split_module(keep_original_input_name=, partition_affix=, tuple_return=)")
    partitions, part_of, steps = {}, {}, {n.name: n for n in m.graph.nodes}

    def use(made, user):
        mine, theirs = part_of.get(made.name), part_of.get(user.name) if user is not None else None
        if mine == theirs:
            return
        if mine is not None:
            partitions[mine].outputs.setdefault(made.name)
            if theirs is not None:
                partitions[mine].dependents.setdefault(theirs)
        if theirs is not None:
            partitions[theirs].inputs.setdefault(made.name)
            if mine is not None:
                partitions[theirs].dependencies.setdefault(mine)

    inside = [n for n in m.graph.nodes if n.op not in ("placeholder", "get_attr", "output")]
    for node in inside:
        key = str(split_callback(node))
        partitions.setdefault(key, Partition(key)).node_names.append(node.name)
        part_of[node.name] = key
    for node in m.graph.nodes:
        if node.op == "output":
            map_arg(node.args[0], lambda n: use(n, None))
        elif node.op not in ("placeholder", "get_attr"):
            map_arg((node.args, node.kwargs), lambda n: use(n, node))
    for partition in partitions.values():              # attributes are read where they are used
        for name in [n for n in partition.inputs if steps[n].op == "get_attr"]:
            del partition.inputs[name]
        for name in partition.inputs:
            source = steps[name]
            new = partition.graph.placeholder(name, type_expr=source.type)
            new.meta = copy.copy(source.meta)
            partition.environment[source] = new
    order = _in_order(list(m.graph.nodes), partitions, part_of, keep_original_order)
    for node in m.graph.nodes:
        if node.name not in part_of:
            continue
        partition = partitions[part_of[node.name]]
        for n in node.all_input_nodes:
            if n.op == "get_attr" and n not in partition.environment:
                partition.environment[n] = _read(partition, m, n)
        args, kwargs = (map_arg(a, partition.environment.__getitem__) for a in (node.args, node.kwargs))
        target = node.target
        if node.op == "call_module":
            value, target = _attribute(m, target), target.replace(".", "_")
            partition.targets[target] = value
            if qualname_map is not None:
                qualname_map[f"{partition.submod_name}.{target}"] = node.target
        new = partition.graph.create_node(node.op, target, args, kwargs, node.name if keep_original_node_name else None, node.type)
        new.meta = copy.copy(node.meta)
        partition.environment[node] = new
    base, values, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            values[node.name] = base.placeholder(node.target, node.type, *node.args[:1])
            values[node.name].meta = copy.copy(node.meta)
        elif node.op == "get_attr" and any([u.op == "output" for u in node.users]):
            values[node.name] = base.get_attr(node.target)
            attributes[node.target] = _attribute(m, node.target)
    for key in order:
        partition = partitions[key]
        results = tuple([partition.environment[steps[n]] for n in partition.outputs])
        if results:
            partition.graph.output(results[0] if len(results) == 1 else results)
        attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        call = base.call_module(partition.submod_name, tuple([values[n] for n in partition.inputs]))
        for k, name in enumerate(partition.outputs):
            values[name] = call if len(results) == 1 else base.call_function(operator.getitem, (call, k))
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: values[n.name])).meta = copy.copy(node.meta)
    return GraphModule(attributes, base)


def _read(partition, m, n):
    """A step that reads an attribute within a part."""
    value, target = _attribute(m, n.target), n.target.replace(".", "_")
    partition.targets[target] = value
    new = partition.graph.create_node("get_attr", target, type_expr=n.type)
    new.meta = copy.copy(n.meta)
    return new


def _in_order(nodes, partitions, part_of, as_written):
    """The keys of the parts, each after those it needs."""
    if as_written:
        return list(dict.fromkeys([part_of[n.name] for n in nodes if n.name in part_of]))
    ready, order = [k for k, p in partitions.items() if not p.dependencies], []
    while ready:
        key = ready.pop(0)
        order.append(key)
        for other in partitions[key].dependents:
            partitions[other].dependencies.pop(key)
            if not partitions[other].dependencies:
                ready.append(other)
    if len(order) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return order
