"""What a backend made of the graphs of one function, and the graphs themselves, built from the steps that `capture` noted down."""
from __future__ import annotations

import inspect
import operator
import traceback
import warnings
import weakref
from dataclasses import dataclass, field

from ..compiler.region import running
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn import Module
from . import config, names
from .steps import Step, Value
from .exc import BackendCompilerFailed, FailOnRecompileLimitHit, Unsupported
from .utils import counters

_MOST = 5000                                   # calls of a function that something is known of
_all: weakref.WeakSet = weakref.WeakSet()


@dataclass
class GraphCompileReason:
    """Why a graph ended."""
    reason: str
    user_stack: list = field(default_factory=list)
    graph_break: bool = True


class Graphs:
    """{what a graph consists of: what the backend made of it}, for one function."""

    def __init__(self, backend, name, fullgraph=False, options=None):
        self.backend, self.name, self.fullgraph, self.options, self.code = backend, name, fullgraph, options or {}, None
        self.reset()
        _all.add(self)

    def __deepcopy__(self, memo):
        return self                            # a copy's graphs are the same ones

    def __reduce__(self):
        return Graphs, (self.backend, self.name, self.fullgraph, self.options)

    def reset(self):
        """Forget all graphs."""
        self.compiled, self.counts, self.breaks, self.over = {}, {}, [], False
        self.known, self.roots = 0, {}

    def root(self, k):
        """What is known of calls, before the first of a graph: the number of those before it, and the modes that it begins in."""
        if self.known > _MOST:
            self.known, self.roots, self.compiled = 0, {}, {}
        found = self.roots.get(k)
        if found is None:
            from .capture import Known
            found = self.roots[k] = Known()
        return found

    def call(self, fn, args, kwargs):
        """fn(*args, **kwargs), captured."""
        from .capture import Capture, foreign
        if foreign():
            return fn(*args, **kwargs)
        capture = Capture(fn, code_of(fn), self, args, kwargs)
        try:
            with capture:
                made = fn(*args, **kwargs)
        except Unsupported:
            raise
        except BaseException:
            capture.done(())                   # what was written in place before stays
            raise
        return capture.done(made)

    def run(self, key, capture, inputs, steps, outs):
        """The values of `outs`, Values that `steps` compute from `inputs`."""
        compiled = self.compiled.get(key)
        if compiled is None:
            count = self.counts.get(capture.count, 0)
            if count >= config.recompile_limit:
                self._limited(capture)
                with running():
                    return computed(inputs, steps, outs)
            self.counts[capture.count] = count + 1
            compiled = self.compiled[key] = self._compile(graph_module(capture, inputs, steps, outs), [v.real for v in inputs])
        with running():
            return compiled(*[v.real for v in inputs])

    def _limited(self, capture):
        said = f"torch._dynamo hit config.recompile_limit ({config.recompile_limit})"
        if self.fullgraph:
            raise FailOnRecompileLimitHit("recompile_limit reached with fullgraph=True")
        if not self.over:
            self.over = True
            warnings.warn(f"{said}\n   function: '{getattr(capture.code, 'co_name', self.name)}'", stacklevel=4)

    def _compile(self, gm, inputs):
        counters["stats"]["calls_captured"] += sum([n.op in ("call_function", "call_method", "call_module") for n in gm.graph.nodes])
        counters["stats"]["unique_graphs"] += 1
        try:
            made = self.backend(gm, inputs, **self.options)
            if not callable(made):
                raise AssertionError("compiler_fn did not return callable")
            return made
        except Exception as error:
            if config.suppress_errors:
                return gm
            raise BackendCompilerFailed(self.backend, error) from error


def code_of(fn):
    """The code that a function, or a module's call, runs; None for what has none."""
    body = getattr(type(fn), "forward", None) if isinstance(fn, Module) else getattr(fn, "__func__", fn)
    return getattr(inspect.unwrap(body), "__code__", None)


def shared(backend, fn, fullgraph, options):
    """The Graphs of a function with a backend: those of the same code are the same, as in PyTorch."""
    code = code_of(fn)
    for graphs in _all if code is not None else ():
        if graphs.code is code and graphs.backend is backend and graphs.fullgraph == fullgraph and graphs.options == options:
            return graphs
    made = Graphs(backend, getattr(fn, "__name__", type(fn).__name__), fullgraph, options)
    made.code = code
    return made


def reset():
    """Forget all graphs of all functions."""
    for graphs in _all:
        graphs.reset()


def _nodes(x, of):
    kind = type(x)
    if kind in (tuple, list):
        return kind([_nodes(y, of) for y in x])
    if kind is dict:
        return {k: _nodes(y, of) for k, y in x.items()}
    if kind is slice:
        return slice(_nodes(x.start, of), _nodes(x.stop, of), _nodes(x.step, of))
    return of.get(x, x) if kind in (Value, Step) else x


def computed(inputs, steps, outs):
    """The values of `outs`, without a graph."""
    of = {v: v.real for v in inputs}

    def note(value, x):
        if isinstance(value, list):
            for v, y in zip(value, x):
                note(v, y)
        elif value is not None:
            of.setdefault(value, x)
    for s in steps:
        args, kwargs = _nodes(s.args, of), _nodes(s.kwargs, of)
        of[s] = made = getattr(args[0], s.target)(*args[1:], **kwargs) if s.kind == "call_method" else s.target(*args, **kwargs)
        note(s.result, made)
    return [of[v] for v in outs]


def graph_module(capture, inputs, steps, outs):
    """The program of some steps."""
    graph, of, parts, taken = Graph(), {}, [], set()
    stack = 0
    for v in inputs:
        source = capture.sources[v.real]
        if source is None and v.hint is not None:
            source = f"L['{v.hint}']"
        elif source is None:
            source, stack = f"L['stack{stack}']", stack + 1
        target = base = names.placeholder(source)
        while target in taken:
            target = f"{base}_{len(taken)}"
        taken.add(target)
        of[v] = node = graph.create_node("placeholder", target, (), {}, type_expr=type(v.real))
        node.meta["example_value"] = v.fake
    for s in steps:
        node = of[s] = graph.create_node(s.kind, s.target, _nodes(s.args, of), _nodes(s.kwargs, of))
        if s.place is not None:
            node.stack_trace = "".join(traceback.format_list([s.place]))
        if isinstance(s.result, list):
            _take_apart(graph, node, s, s.result, of, parts, s.becomes)
        elif s.result is not None:
            of[s.result] = node if s.result not in of else of[s.result]
            node.meta["example_value"] = s.result.fake
            if isinstance(s.becomes, str):
                node._rename(s.becomes)
    graph.output(tuple([of[v] for v in outs]))
    for node in reversed(parts):
        if not node.users:
            graph.erase_node(node)
    return GraphModule(Module(), graph, "GraphModule")


def _take_apart(graph, whole, step, results, of, parts, becomes):
    called = {}
    if isinstance(becomes, tuple):
        called = dict(enumerate(becomes))
    elif isinstance(becomes, dict):
        called = {step.fields.index(k) if k in (step.fields or ()) else k: n for k, n in becomes.items()}
    whole.meta["example_value"] = tuple([getattr(v, "fake", None) for v in results])
    for k, v in enumerate(results):
        if v is None:
            continue
        part = graph.call_function(operator.getitem, (whole, k))
        part.stack_trace = whole.stack_trace
        parts.append(part)
        if isinstance(v, list):
            _take_apart(graph, part, step, v, of, parts, None)
            continue
        part.meta["example_value"] = v.fake
        if called.get(k):
            part._rename(called[k])
        of.setdefault(v, part)

