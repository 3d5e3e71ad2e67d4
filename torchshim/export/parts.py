"""Parts of a graph that have gradients otherwise than the rest (torch.no_grad): each becomes a module of its own, called by an operator."""
from __future__ import annotations

import operator

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import map_arg
from ..nn import Module
from ..ops import higher_order
from .tracing import APART


def apart(graph):
    """A module with the parts that were taken out of a graph, which it is called for now."""
    root, runs = Module(), []
    for node in graph.nodes:
        flag = node.meta.get(APART)
        if flag is None:
            continue
        if runs and runs[-1][0] == flag and runs[-1][1][-1].next is node:
            runs[-1][1].append(node)
        else:
            runs.append((flag, [node]))
    for k, (flag, nodes) in enumerate(runs):
        _taken_out(graph, root, f"submod_{2 * k + 1}", f"submod_{2 * len(runs) + 1}", flag, nodes)
    return root


def _taken_out(graph, root, name, step_name, flag, nodes):
    inside, part, env = set(nodes), Graph(), {}
    given = list(dict.fromkeys([a for n in nodes for a in n.all_input_nodes if a not in inside]))
    results = [n for n in nodes if any([u not in inside for u in n.users])]
    for a in given:
        env[a] = part.placeholder(a.name)
        env[a].meta = dict(a.meta)
    for n in nodes:
        env[n] = part.node_copy(n, lambda x: env[x])
        env[n].meta = {k: v for k, v in n.meta.items() if k != APART}
    part.output(tuple([env[n] for n in results]))
    root.add_module(name, GraphModule(Module(), part, name))
    with graph.inserting_before(nodes[0]):
        held = graph.create_node("get_attr", name, (), {}, name=step_name)
        call = graph.create_node("call_function", higher_order.wrap_with_set_grad_enabled, (flag, held, *given), {},
                                 name="wrap_with_set_grad_enabled")
        call.meta["val"] = tuple([n.meta["val"] for n in results])
        made = []
        for k, n in enumerate(results):
            step = graph.call_function(operator.getitem, (call, k))
            step.meta = {m: v for m, v in n.meta.items() if m != APART}
            made.append(step)
    swap = dict(zip(results, made))
    for n in results:
        for user in list(n.users):
            if user not in inside:
                user.args, user.kwargs = [map_arg(a, lambda x: swap.get(x, x)) for a in (user.args, user.kwargs)]
    for n in reversed(nodes):
        graph.erase_node(n)
