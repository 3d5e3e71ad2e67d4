"""torch._functorch.partitioners: a joint graph of a function and its gradient, cut in two."""
from __future__ import annotations

import operator

from ..dropin import missing_attribute as _missing_attribute
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn import Module

__getattr__ = _missing_attribute(__name__)
FORWARD = "partitioner_tag"                    # what steps that the function itself made say in their meta


def _extracted(joint, inputs, outputs, wanted, names=None):
    """A program of the steps of `joint` that `wanted` holds, from some of its values to others."""
    graph, of = Graph(), {}
    for n in inputs:
        of[n] = graph.placeholder(n.name)
        of[n].meta = dict(n.meta)
    for n in joint.graph.nodes:
        if n in of or n.op in ("placeholder", "output") or n not in wanted:
            continue
        of[n] = graph.node_copy(n, of.__getitem__)
    graph.output(tuple([None if x is None else of[x] for x in outputs]))
    root = Module()
    for n in graph.nodes:
        if n.op == "get_attr":
            held, _, name = n.target.rpartition(".")
            value = joint
            for part in n.target.split("."):
                value = getattr(value, part)
            place = root
            for part in held.split(".") if held else ():
                if not hasattr(place, part):
                    setattr(place, part, Module())
                place = getattr(place, part)
            setattr(place, name, value)
    return GraphModule(root, graph)


def _writes(node):
    known = getattr(node.target, "_schema", None)
    return known is not None and bool(known.mutated)


def _needed(outputs, nodes, stop):
    """The steps among `nodes` that outputs need, and those that write to something; not beyond those of `stop`."""
    found, todo = set(), [x for x in [*outputs, *[n for n in nodes if _writes(n)]] if x is not None]
    while todo:
        n = todo.pop()
        if n in found or n in stop:
            continue
        found.add(n)
        todo += n.all_input_nodes
    return found


def default_partition(joint_module, _joint_inputs=None, *, num_fwd_outputs, **options):
    """(forward, backward) of a joint graph: what the function computed is the forward graph, and what its gradient asks for of that is
    kept."""
    nodes = list(joint_module.graph.nodes)
    places = [n for n in nodes if n.op == "placeholder"]
    tangents, primals = [n for n in places if n.name.startswith("tangents_")], [n for n in places if not n.name.startswith("tangents_")]
    outs = next(n for n in nodes if n.op == "output").args[0]
    first, last = list(outs[:num_fwd_outputs]), list(outs[num_fwd_outputs:])
    ahead = [n for n in nodes if n.meta.get(FORWARD) == "is_forward" and n.op not in ("placeholder", "output")]
    later = [n for n in nodes if n not in ahead and n.op not in ("placeholder", "output")]
    behind = _needed(last, later, set(ahead) | set(places))
    asked = {n for user in behind for n in user.all_input_nodes} | {x for x in last if x is not None}
    held = [n for n in (*primals, *ahead) if n in asked and n.op != "get_attr"]
    again = {n for n in ahead if n.op == "get_attr"}
    kept = [n for n in held if not isinstance(n.meta.get("val"), (tuple, list))]
    parts = {n for n in later if n.target is operator.getitem and n.args[0] in held}
    if len(kept) != len(held):
        raise NotImplementedError(f"torchshim: a gradient that reads a tuple of the function, {next(n for n in held if n not in kept)}")
    forward = _extracted(joint_module, primals, [*first, *kept], _needed([*first, *kept], ahead, set(primals)))
    backward = _extracted(joint_module, [*kept, *tangents], last, behind | again | parts)
    return forward, backward


def min_cut_rematerialization_partition(joint_module, _joint_inputs=None, compiler="inductor", *, num_fwd_outputs, **options):
    """The same as `default_partition`: XLA decides what is computed again."""
    return default_partition(joint_module, _joint_inputs, num_fwd_outputs=num_fwd_outputs)
