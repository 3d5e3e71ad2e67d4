"""Steps of a graph as modules that it calls."""
from __future__ import annotations

import heapq
import operator

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node, map_arg
from ..tools_common import stable_topological_sort


def topo_sort(nodes):
    """Steps in an order that can run, as near to the given one as can be. AssertionError for a circle."""
    place, made = {n: k for k, n in enumerate(nodes)}, []
    missing = {n: len([x for x in n.all_input_nodes if x in place]) for n in nodes}
    ready = [k for n, k in place.items() if not missing[n]]
    while ready:
        n = nodes[heapq.heappop(ready)]
        made.append(n)
        for user in n.users:
            if user in place:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    if len(made) != len(place):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return made


def validate_partition(partition):
    """Whether no way leads out of steps and back into them."""
    own = set(partition)
    stack, seen = [u for n in own for u in n.users if u not in own], set()
    while stack:
        n = stack.pop()
        if n in own:
            return False
        if n not in seen:
            seen.add(n)
            stack += n.users
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """(a module of these steps, what they read of the others, which of them others read). AssertionError for steps of other modules, of
    which one is no call, or that wait for what they make."""
    for n in nodes:
        if n.graph.owning_module is not gm:
            raise AssertionError(f"{n} doesn't belong to passed in graph module {gm._get_name()}")
        if n._erased:
            raise AssertionError(f"{n} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph, env, read = Graph(), {}, {}

    def inside(x):
        if x in env:
            return env[x]
        if x not in read:
            made = graph.placeholder(x.name, type_expr=x.type)
            made.meta = dict(x.meta)
            read[x] = made
        return read[x]
    for n in nodes:                            # placeholders stand before all steps
        map_arg((n.args, n.kwargs), lambda x: inside(x) if x not in nodes else x)
    for n in nodes:
        env[n] = graph.node_copy(n, inside)
    made = {n: env[n] for n in nodes if any([u not in env for u in n.users])}
    outs = tuple(made.values())
    graph.output(outs[0] if len(outs) == 1 and not always_return_tuple else outs)
    graph.lint()
    return GraphModule(gm, graph, class_name=module_name), tuple(read), tuple(made)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs):
    """Let a graph call a module where it had the module's steps: they are still there."""
    name = sub_gm.__class__.__name__
    gm.add_submodule(name, sub_gm)
    places = {n: k for k, n in enumerate(gm.graph.nodes)}
    last = max(orig_outputs, key=places.__getitem__)
    with gm.graph.inserting_after(last):
        step = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    returned = next(n for n in sub_gm.graph.nodes if n.op == "output").args[0]
    if len(orig_outputs) == 1 and not isinstance(returned, tuple):
        orig_outputs[0].replace_all_uses_with(step, propagate_meta=True)
        return gm
    after = step
    for k, n in enumerate(orig_outputs):
        with gm.graph.inserting_after(after):
            after = gm.graph.call_function(operator.getitem, (step, k))
        n.replace_all_uses_with(after, propagate_meta=True)
    step.meta["val"] = tuple([n.meta.get("val") for n in orig_outputs])
    return gm


def erase_nodes(gm, nodes):
    """Take steps out of a graph, which nobody reads any more."""
    for n in reversed(nodes):
        gm.graph.erase_node(n)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """The module with each of `partitions` (lists of steps, or dicts of them) as a module of its own, which it calls."""
    for k, partition in enumerate(partitions):
        nodes = topo_sort([n for n in gm.graph.nodes if n in set(partition)])
        made, ins, outs = fuse_as_graphmodule(gm, nodes, f"{prefix}{k}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, made, ins, outs)
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm


NodeList, NodeSet = list[Node], set[Node]
