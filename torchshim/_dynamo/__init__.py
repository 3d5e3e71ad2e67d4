"""torch._dynamo: the names of it that programs touch. Nothing here rewrites bytecode."""
from __future__ import annotations

from ..compiler import (allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset,
                        substitute_in_graph)
from ..dropin import missing_attribute as _missing_attribute
from .eval_frame import OptimizedModule, compile as _compile


def optimize(backend="inductor", *, nopython=False, **options):
    """A decorator: `torch.compile` with a backend."""
    return _compile(backend=backend, fullgraph=nopython)


def optimize_assert(backend, **options):
    """A decorator: `torch.compile` with a backend."""
    return _compile(backend=backend, fullgraph=True)


def is_dynamo_supported():
    """Whether torch.compile can be called."""
    return True


is_inductor_supported = is_dynamo_supported


def graph_break(msg=""):
    """Nothing: there is no graph to break."""


def mark_dynamic(t, index, **kwargs):
    """Nothing: sizes are found to vary when they do."""


maybe_mark_dynamic = mark_dynamic


def mark_static(t, index=None):
    """Nothing: sizes are fixed until they vary."""


def mark_static_address(t, guard=False):
    """Nothing: addresses mean nothing to XLA."""


def disallow_in_graph(fn):
    """The function as it is."""
    return fn


forbid_in_graph = disallow_in_graph


def _no_graphs(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch._dynamo.{name}; torchshim.explain() shows what is compiled and why")
    missing.__name__ = name
    return missing


explain, export, register_backend, lookup_backend = map(_no_graphs, ("explain", "export", "register_backend", "lookup_backend"))

__getattr__ = _missing_attribute(__name__, lazy=("_trace_wrapped_higher_order_op", "config", "eval_frame", "exc", "utils"))
