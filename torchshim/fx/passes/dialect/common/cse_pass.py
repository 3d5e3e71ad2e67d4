"""Common subexpressions: what a graph computes twice it computes once."""
from __future__ import annotations

from ....graph import Graph
from ....graph_module import GraphModule
from .....ops import aten
from .....utils import _pytree as pytree
from ...infra.pass_base import PassBase, PassResult

#: Operators that give something else each time.
rand_ops = {getattr(aten, name) for name in (
    "dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu rand_like rand randint randn "
    "randperm").split()}
#: Those whose results are written to.
inplace_ops = {getattr(aten, name) for name in (
    "add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_").split()}


def get_CSE_banned_ops():
    """The operators that are left as they are: random ones, and some that write."""
    return rand_ops | inplace_ops


def _packet(step):
    return getattr(step.target, "overloadpacket", step.target)


class CSEPass(PassBase):
    """Steps with equal targets and arguments become the first of them. banned_ops: operators that are left alone."""

    def __init__(self, banned_ops=None):
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module):
        """PassResult(a new module, whether anything was twice)."""
        made, env, known, modified = Graph(), {}, {}, False
        for step in graph_module.graph.nodes:
            kept = None
            if step.op not in ("placeholder", "output", "get_attr") and _packet(step) not in self.banned_ops:
                args, form = pytree.tree_flatten((step.args, step.kwargs))
                key = step.target, form, tuple([(env.get(x, x), type(x)) if not isinstance(x, slice) else (
                    (slice, *[env.get(y, y) for y in (x.start, x.stop, x.step)]), slice) for x in args])
                try:
                    kept = known.get(key)
                except TypeError:              # an argument without a hash
                    key = None
            if kept is not None:
                env[step], modified = kept, True
                continue
            env[step] = made.node_copy(step, lambda x: env[x])
            if step.op not in ("placeholder", "output", "get_attr") and _packet(step) not in self.banned_ops and key is not None:
                known[key] = env[step]
        return PassResult(GraphModule(graph_module, made), modified)
