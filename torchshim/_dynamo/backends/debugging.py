"""Backends that look at graphs: what `torch._dynamo.explain` says."""
from __future__ import annotations

import dataclasses
from typing import Any

from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__)


@dataclasses.dataclass
class ExplainOutput:
    """The graphs of a call, and why they ended. There are no guards (see `..capture`)."""
    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list | None = None
    out_guards: list | None = None
    compile_times: Any = None

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}",
                 "Break Reasons:"]
        for k, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {k}:", f"    Reason: {reason.reason}", "    User Stack:", *[f"      {f}" for f in reason.user_stack]]
        if self.ops_per_graph is not None:
            lines.append("Ops per Graph:")
            for k, ops in enumerate(self.ops_per_graph, 1):
                lines += [f"  Ops {k}:", *[f"    {op}" for op in ops]]
        if self.out_guards is not None:
            lines.append("Out Guards:")
        if self.compile_times is not None:
            lines.append(f"Compile Times: {self.compile_times}")
        return "\n".join(lines) + "\n"


def explain(f, args, kwargs):
    """What a call's graphs are."""
    from ...compiler import region
    from ..graphs import Graphs
    found = []

    def note(gm, example_inputs):
        found.append(gm)
        return gm.forward
    graphs = Graphs(note, getattr(f, "__name__", type(f).__name__))
    region.call(getattr(f, "_torchdynamo_orig_callable", f), set(), args, kwargs, graphs)
    ops = [[n.target for n in gm.graph.nodes if n.op == "call_function"] for gm in found]
    return ExplainOutput(found, len(found), len(found) - 1, [r for r in graphs.breaks if r is not None], sum(map(len, ops)), ops, [], "")
