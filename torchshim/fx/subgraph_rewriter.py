"""Replace every place of a graph that computes what a pattern computes.

A pattern is matched backwards from what it returns, along arguments: names do not count, and its parameters stand for anything.
"""
from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place that was replaced: the pattern's last step, and {step of the pattern: step of the graph}."""
    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A Match, and the steps that stand there now."""
    anchor: Node
    nodes_map: dict
    replacements: list


@dataclass
class InternalMatch:
    """A place that may be replaced, as filters and `replacement_callback` see it."""
    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)


def _attribute(node):
    found = node.graph.owning_module
    if found is None:
        raise AssertionError(f"{node.target} is an attribute, and its graph has no module; give a module, not its graph")
    for name in node.target.split("."):
        found = getattr(found, name)
    return found


class _Matcher:
    """Finds a pattern's graph in others."""

    def __init__(self, pattern, ignore_literals, node_name_match):
        self.ignore_literals, self.name = ignore_literals, node_name_match
        nodes = list(pattern.nodes)
        if not nodes:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        if any([n.op != "output" and not n.is_impure() and not n.users for n in nodes]):
            raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.parameters = [n for n in nodes if n.op == "placeholder"]
        self.returned = nodes[-1].all_input_nodes
        self.anchors = [n for n in self.returned if len(n.users) == 1]

    def _alike(self, p, g):
        if p.op == "placeholder" or self.name and self.name in g.name:
            return True
        if p.op != g.op:
            return False
        if p.op != "get_attr":
            return p.op == "output" or p.target == g.target
        mine, theirs = _attribute(p), _attribute(g)
        return type(mine) is type(theirs)

    def _step(self, p, g, found):
        """Whether g computes what p does; `found` gets {step of the pattern: step}, and is of no use after a failure."""
        if p in found:
            return found[p] is g
        if any([n is g for n in found.values()]) or not self._alike(p, g):
            return False
        found[p] = g
        if p.op == "placeholder":
            return True
        return list(p.kwargs) == list(g.kwargs) and self._each([*p.args, *p.kwargs.values()], [*g.args, *g.kwargs.values()], found,
                                                               len(p.args) == len(g.args))

    def _each(self, ps, gs, found, fit=True):
        return fit and len(ps) == len(gs) and all([self._argument(p, g, found) for p, g in zip(ps, gs)])

    def _argument(self, p, g, found):
        if isinstance(p, Node) and isinstance(g, Node):
            return self._step(p, g, found)
        if isinstance(p, (list, tuple)) and isinstance(g, (list, tuple)):
            return self._each(p, g, found)
        if isinstance(p, Node) and p.op == "placeholder":
            return found.setdefault(p, g) == g or self.ignore_literals
        return not isinstance(p, Node) and not isinstance(g, Node) and type(p) is type(g) and p == g or self.ignore_literals

    def _all(self, graph, anchors, found):
        """Every way to find the anchors that are left."""
        if not anchors:
            yield found
            return
        for g in graph.nodes:
            more = dict(found)
            if self._alike(anchors[0], g) and self._step(anchors[0], g, more):
                yield from self._all(graph, anchors[1:], more)

    def _apart(self, found):
        """Whether nothing outside uses what is inside, but for what is returned, and nothing inside waits for that."""
        inside = {g for p, g in found.items() if p.op != "placeholder"}
        if any([u not in inside for p, g in found.items() if p.op != "placeholder" and p not in self.returned for u in g.users]):
            return False
        after, seen = [u for g in inside for u in g.users if u not in inside], set()
        while after:
            n = after.pop()
            if n in inside:
                return False
            if n not in seen:
                seen.add(n)
                after.extend(n.users)
        return True

    def match(self, graph):
        """The places in a graph; of those that overlap, the first."""
        taken, matches = set(), []
        for found in self._all(graph, self.anchors, {}) if self.anchors else ():
            inside = {g for p, g in found.items() if p.op != "placeholder"}
            if all([p in found for p in (*self.parameters, *self.returned)]) and self._apart(found) and not inside & taken:
                taken |= inside
                matches.append(InternalMatch(self.anchors, found, [found[p] for p in self.parameters], [found[p] for p in self.returned]))
        return matches


def _graph(program):
    return program if isinstance(program, Graph) else program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _insert_point(graph, returned):
    """Before the first step that uses a result; without one, after the last result."""
    nodes = list(graph.nodes)
    users = {u for n in returned for u in n.users}
    if users:
        return next(n for n in nodes if n in users)
    last = max([nodes.index(n) for n in returned])
    return nodes[last + 1]


def _put(graph, match, replacement, changed):
    """Add the replacement's steps where the match is; returns them. changed: {step: what stands for it since an earlier match}."""
    for k, n in enumerate(match.placeholder_nodes):
        if isinstance(n, Node) and n in changed:
            match.placeholder_nodes[k] = changed[n]
            match.nodes_map.update({p: changed[n] for p, g in match.nodes_map.items() if g is n})
    parameters = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(parameters) != len(match.placeholder_nodes):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(parameters)}")
    here = dict(zip(parameters, match.placeholder_nodes))
    with graph.inserting_before(_insert_point(graph, match.returning_nodes)):
        results = graph.graph_copy(replacement, here)
    results = (results,) if isinstance(results, Node) else results
    if len(results) != len(match.returning_nodes):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    made = [n for n in here.values() if not any([n is g for g in match.placeholder_nodes])]
    for old, new in zip(match.returning_nodes, results):
        old.replace_all_uses_with(new)
        changed[old] = new
    return made


def _adopt(gm, replacement):
    """Give gm the attributes that the replacement brought, and take away the submodules that nothing uses now."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        *parents, leaf = node.target.split(".")
        at, there = gm, replacement
        for name in parents:
            there = getattr(there, name, None)
            if not hasattr(at, name) and there is not None:
                at.add_module(name, Module())
            at = getattr(at, name, None)
        if at is not None and hasattr(at, leaf):
            continue
        if at is None or not hasattr(there, leaf):
            raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                               'referenced attribute does not exist in the replacement GraphModule')
        setattr(at, leaf, copy.deepcopy(getattr(there, leaf)))
    gm.graph.lint()


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
                                 node_name_match=""):
    """Like `replace_pattern`, and the program chooses.

    match_filters: functions (match, graph, pattern's graph) that must all be true. ignore_literals: let numbers of the pattern stand for
    any.
    replacement_callback: (match, graph, pattern's graph) -> the graph to put there, instead of `replacement`.
    node_name_match: a part of a name that makes a step fit any step of the pattern. Returns a list of ReplacedPatterns.
    """
    pattern = _graph(pattern)
    matches = _Matcher(pattern, ignore_literals, node_name_match).match(gm.graph)
    matches = [m for m in matches if all([chosen(m, gm.graph, pattern) for chosen in match_filters or ()])]
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    common = None if replacement is None else _graph(replacement)
    changed, done = {}, []
    for match in matches:
        made = _put(gm.graph, match, replacement_callback(match, gm.graph, pattern) if replacement_callback else common, changed)
        for node in reversed(pattern.nodes):
            if node.op not in ("placeholder", "output"):
                gm.graph.erase_node(match.nodes_map[node])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    gm.recompile()
    if isinstance(replacement, Module):
        _adopt(gm, replacement)
    return done


def replace_pattern(gm, pattern, replacement):
    """Replace what computes the same as `pattern` in a GraphModule, wherever it is; returns the places as a list of Match.

    pattern, replacement: functions or modules with the same number of parameters and of results. Of places that overlap the first is
    replaced; one whose inner steps are used outside of it stays. AssertionError where the parameters or results do not fit each other.
    Follows https://docs.pytorch.org/docs/stable/fx.html.
    """
    return [Match(r.anchor, r.nodes_map) for r in replace_pattern_with_filters(gm, pattern, replacement)]
