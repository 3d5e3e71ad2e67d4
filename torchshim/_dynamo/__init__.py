"""torch._dynamo: graphs of functions for backends of the program's own (see `capture`), and the names that programs touch besides.
Nothing here rewrites bytecode."""
from __future__ import annotations

import sys as _sys
import warnings as _warnings

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset, substitute_in_graph
from ..dropin import missing_attribute as _missing_attribute
from ..engine import context as _context
from .backends.registry import list_backends, lookup_backend, register_backend
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
    """The end of a graph, where a function is captured."""
    capture = _context.modes.get("capture")
    if capture is not None:
        from .capture import explained
        capture.settle(lambda: explained(
            "Call to `torch._dynamo.graph_break()`", f"User-inserted graph break. Message: {msg or None}",
            "Remove the `torch._dynamo.graph_break()` call.",
            context=f"Called `torch._dynamo.graph_break()` with args `{[msg] if msg else []}`, kwargs `{{}}`"), _sys._getframe(1))


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


def explain(f, *extra_args, **extra_kwargs):
    """A function of a call's arguments that returns what graphs the call consists of, and why they end (an ExplainOutput)."""
    from .backends.debugging import explain as of_call
    if extra_args or extra_kwargs:
        _warnings.warn("explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) instead.  If you don't migrate, we may "
                       "break your explain call in the future if your user defined kwargs conflict with future kwargs added to explain(f).",
                       FutureWarning, stacklevel=2)
        return of_call(f, extra_args, extra_kwargs)
    return lambda *args, **kwargs: of_call(f, args, kwargs)


def export(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch._dynamo.export; torch.export.export makes graphs of whole programs")


__getattr__ = _missing_attribute(__name__, lazy=("_trace_wrapped_higher_order_op", "backends", "config", "decorators", "testing", "eval_frame",
                                              "exc", "external_utils", "utils"))
