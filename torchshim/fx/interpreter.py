"""Interpreter: run a graph step by step. Transformer: make another graph of it."""
from __future__ import annotations

import contextlib
import inspect

from . import traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """Runs a GraphModule's graph; subclasses change what a kind of step does.

    garbage_collect_values: let go of values that no later step uses. graph: another than the module's.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env, self.garbage_collect_values, self.extra_traceback, self.name = {}, garbage_collect_values, True, "Interpreter"
        if garbage_collect_values:
            last = {}
            for node in self.graph.nodes:
                for n in node.all_input_nodes:
                    last[n] = node
            self.user_to_last_uses = {}
            for n, user in last.items():
                self.user_to_last_uses.setdefault(user, []).append(n)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The graph's result for these arguments. initial_env: {step: value} of what is known already.
        An error says at which step it was."""
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as e:
                if self.extra_traceback:
                    where = f"While executing {node.format_node()}"
                    e.args = ((f"{e.args[0]}\n\n{where}" if e.args else where) + f"\nOriginal traceback:\n{node.stack_trace}", *e.args[1:])
                    if isinstance(e, KeyError):
                        raise RuntimeError(*e.args) from e
                raise
            if self.garbage_collect_values:
                for n in self.user_to_last_uses.get(node, ()):
                    del self.env[n]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """`run` with the arguments in a list, which is emptied so that nothing keeps them."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        with traceback.set_current_meta(node):
            yield

    def run_node(self, n):
        """What one step makes."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if not isinstance(args, tuple):
                raise AssertionError(f"Expected tuple for args, got {type(args)}")
            if not isinstance(kwargs, dict):
                raise AssertionError(f"Expected dict for kwargs, got {type(kwargs)}")
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from None

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """A function's result."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """A method's result."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        """A submodule's result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target):
        """An attribute by its dotted name. RuntimeError if there is none."""
        found, parts = self.module, target.split(".")
        for k, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:k + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """A step's arguments with the values of the steps among them."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Nested containers with values for Nodes. RuntimeError for a step that has not run."""
        def value(m):
            if m not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {m}! Run Graph.lint() to diagnose such issues")
            return self.env[m]
        return map_arg(args, value)


class _TransformerTracer(Tracer):
    def __init__(self, graph):
        super().__init__()
        self.graph, self.tensor_attrs = graph, {}

    def is_leaf_module(self, m, module_qualified_name):
        return True


class Transformer(Interpreter):
    """An Interpreter on Proxies: `transform()` gives the GraphModule of what its methods did."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """A parameter of the new graph."""
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """The same attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """The same call in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """The same call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The new GraphModule."""
        with traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            output = self.new_graph.output(map_aggregate(result, lambda x: x.node if isinstance(x, Proxy) else x))
            for old in self.graph.find_nodes(op="output"):
                output.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
