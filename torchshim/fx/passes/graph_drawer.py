"""Graphs as drawings, with pydot where it is installed."""
from __future__ import annotations

from ..graph_module import GraphModule
from ..node import _get_qualified_name

__all__ = ["FxGraphDrawer"]
_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2", "get_attr": "LightGrey",
           "output": "PowderBlue"}


class FxGraphDrawer:
    """Draws a GraphModule and those in it: `get_dot_graph()` is pydot's. RuntimeError without pydot."""

    def __init__(self, graph_module, name, ignore_getattr=False, ignore_parameters_and_buffers=False, skip_node_names_in_args=True,
                 parse_stack_trace=False, dot_graph_shape=None, normalize_args=False):
        try:
            import pydot
        except ImportError:
            raise RuntimeError("FXGraphDrawer requires the pydot package to be installed. Please install pydot through your favorite "
                               "Python package manager.") from None
        self._pydot, self._name, self._shape = pydot, name, dot_graph_shape or "record"
        self._skip = ("get_attr",) if ignore_getattr else ()
        self._graphs = {name: self._drawn(graph_module, name)}
        for inner, m in graph_module.named_modules():
            if inner and isinstance(m, GraphModule):
                self._graphs[f"{name}_{inner}"] = self._drawn(m, f"{name}_{inner}")

    def get_dot_graph(self, submod_name=None):
        """The drawing of the module, or of one within."""
        return self._graphs[self._name if submod_name is None else submod_name]

    get_main_dot_graph = get_dot_graph

    def get_submod_dot_graph(self, submod_name):
        """The drawing of a GraphModule within."""
        return self._graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self):
        """{name: drawing}."""
        return self._graphs

    def _drawn(self, gm, name):
        dot = self._pydot.Dot(name, rankdir="TB")
        nodes = [n for n in gm.graph.nodes if n.op not in self._skip]
        for n in nodes:
            dot.add_node(self._pydot.Node(n.name, label=self._label(n), shape=self._shape, style='"filled,rounded"',
                                          fillcolor=_COLORS.get(n.op, "White"), fontcolor="#000000"))
        for n in nodes:
            for user in n.users:
                dot.add_edge(self._pydot.Edge(n.name, user.name))
        return dot

    def _label(self, n):
        target = n.target if isinstance(n.target, str) else _get_qualified_name(n.target)
        lines = [f"name=%{n.name}", f"op_code={n.op}", f"target={target}", f"num_users={len(n.users)}"]
        return '"{' + "|".join(lines).replace("{", r"\{").replace("}", r"\}") + '\\n}"'
