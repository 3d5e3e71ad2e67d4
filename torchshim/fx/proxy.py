"""Proxy: stands for a value while a program is recorded as a graph."""
from __future__ import annotations

import operator

from .. import Tensor, overrides
from . import traceback
from .node import Node, map_aggregate        # noqa: F401  (Node: torch has it here too)


class TraceError(ValueError):
    """A program that looks into values, which a graph can't hold."""


class TracerBase:
    """What makes Nodes of calls on Proxies."""
    graph = None

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Add a step to the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if traceback.has_preserved_node_meta():
            node.meta = {**traceback.get_current_meta(), **node.meta}
            node.stack_trace = node.meta.get("stack_trace", node.stack_trace)
        return node

    def proxy(self, node):
        """A Proxy for a step."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Add a step for a call with Proxies among its arguments; its Proxy."""
        return self.proxy(self.create_node(kind, target, self.create_arg(tuple(args)), self.create_arg(dict(kwargs)), name, type_expr))

    def create_arg(self, a):
        """An argument as a graph holds it: Nodes for Proxies."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, x):
        if isinstance(x, Proxy):
            return x.node
        if isinstance(x, Tensor):
            raise NotImplementedError("torchshim: a tensor that is no attribute of the module, as an argument in a graph")
        return x

    def to_bool(self, obj):
        """TraceError: what a graph does can't depend on values."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """TraceError."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
                         "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
                         "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj):
        """A Proxy of its keys."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there."""

    def __init__(self, graph):
        self.graph = graph


class Proxy:
    """Stands for the value of `node`: what is done with it becomes a step of the graph."""

    def __init__(self, node, tracer=None):
        overrides.begin()                          # torch's functions ask Proxies, whoever makes them
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                           "torch.fx.wrap('len') at module scope")

    def keys(self):
        """A Proxy of its keys."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        tracer = first_proxy((args, kwargs)).tracer
        if func.__name__ == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = args[0], *args[1]               # as torch unpacks operands in a list before it asks
        return tracer.create_proxy("call_function", func, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a Proxy: a step of its own when it is used, a method's name when it is called."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        """The step that reads it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def first_proxy(a):
    """Some Proxy in nested containers, or None."""
    found = []
    map_aggregate(a, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


def _operator(function, reflected=False):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", function, (args[0], self) if reflected else (self, *args), {})
    return method


for _n in ("add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul eq ne lt gt le ge getitem neg pos invert abs").split():
    setattr(Proxy, f"__{_n.strip('_')}__", _operator(getattr(operator, _n)))
for _n in "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul".split():
    setattr(Proxy, f"__r{_n.strip('_')}__", _operator(getattr(operator, _n), True))
Proxy.__hash__ = object.__hash__
