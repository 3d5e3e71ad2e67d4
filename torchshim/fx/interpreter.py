"""Interpreter: run a graph step by step. Transformer: make another graph of it."""
from __future__ import annotations

from .graph import Graph
from .graph_module import GraphModule
from .node import map_arg
from .proxy import Proxy, TracerBase


class Interpreter:
    """Runs a GraphModule's graph; subclasses change what a kind of step does.

    garbage_collect_values: let go of values that no later step uses.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env, self.garbage_collect_values, self.extra_traceback = {}, garbage_collect_values, True
        last = {}
        for node in self.graph.nodes:
            for n in node.all_input_nodes:
                last[n] = node
        self.user_to_last_uses = {}
        for n, user in last.items():
            self.user_to_last_uses.setdefault(user, []).append(n)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The graph's result for these arguments."""
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if self.garbage_collect_values:
                for n in self.user_to_last_uses.get(node, ()):
                    del self.env[n]
            if node.op == "output":
                return self.env[node]

    def run_node(self, n):
        """What one step makes."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
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
        found = self.module
        for part in target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """A step's arguments with the values of the steps among them."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Nested containers with values for Nodes."""
        return map_arg(args, self.env.__getitem__)


class Transformer(Interpreter):
    """An Interpreter on Proxies: `transform()` gives the GraphModule of what its methods did."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = TracerBase()
        self.tracer.graph = self.new_graph

    def placeholder(self, target, args, kwargs):
        """A parameter of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

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
        result = super().run()
        if result is not None:
            self.new_graph.output(map_proxies(result))
        return GraphModule(self.module, self.new_graph)

    def run(self, *args, **kwargs):
        """See `Interpreter.run`."""
        return super().run(*args, **kwargs)


def map_proxies(a):
    """Nested containers with Nodes for Proxies."""
    from .node import map_aggregate
    return map_aggregate(a, lambda x: x.node if isinstance(x, Proxy) else x)
