"""GraphModule: a module whose forward is the code of a graph."""
from __future__ import annotations

import copy
import functools
import itertools
import linecache
import sys

from .. import Tensor
from ..nn import Module
from ..nn.parameter import Parameter
from .node import qualified_name

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"     # where `meta` keeps what is to survive copies


class _CodeOnlyModule(Module):
    """A module that has the attributes of another, which it is given as a dict."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def _copy_attr(source, target, path):
    *parents, leaf = path.split(".")
    for name in parents:
        inner = getattr(source, name, None)
        if inner is None:
            return
        if name not in target._modules:
            target.add_module(name, Module())
        source, target = inner, getattr(target, name)
    value = getattr(source, leaf)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(leaf, value)
    else:
        setattr(target, leaf, value)


class GraphModule(Module):
    """A module made of a graph. root: the module (or {name: attribute}) whose attributes the graph uses; `code` is what it runs.

    After changes of `graph` call `recompile()`.
    """

    def __new__(cls, *args, **kwargs):
        # each has a class of its own, since forward lies there
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_graph_module_impl", False))
        made = type("GraphModuleImpl", (base,), {"_graph_module_impl": True})
        return object.__new__(made)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        self.meta = {}
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        else:
            for name, value in sorted(root.items(), key=lambda item: item[0].count(".")):
                *parents, leaf = name.split(".")
                to = self
                for p in parents:
                    if p not in to._modules:
                        to.add_module(p, Module())
                    to = getattr(to, p)
                setattr(to, leaf, value)
        self.graph = graph

    @property
    def graph(self):
        """The graph; assigning one recompiles."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g):
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of forward."""
        return self.__dict__["_code"]

    def recompile(self):
        """Make forward anew from the graph; returns the code."""
        made = self.graph.python_code("self")
        self.__dict__["_code"] = made.src
        filename, space = f"<eval_with_key>.{next(_numbers)}", dict(made.globals)
        source = made.src.strip("\n ") + "\n"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec"), space)
        type(self).forward = space["forward"]
        return made

    def add_submodule(self, target, m):
        """Install a module at a dotted name; whether that was possible."""
        *parents, leaf = target.split(".")
        at = self
        for name in parents:
            inner = getattr(at, name, None)
            if inner is None:
                inner = Module()
                setattr(at, name, inner)
            if not isinstance(inner, Module):
                return False
            at = inner
        at.add_module(leaf, m)
        return True

    def delete_submodule(self, target):
        """Remove a submodule; whether it was there."""
        *parents, leaf = target.split(".")
        at = self
        for name in parents:
            at = getattr(at, name, None)
        if not isinstance(getattr(at, leaf, None), Module):
            return False
        delattr(at, leaf)
        return True

    def delete_all_unused_submodules(self):
        """Remove the submodules that the graph does not use."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update([".".join(parts[:k + 1]) for k in range(len(parts))])
                called = functools.reduce(lambda m, name: getattr(m, name, None), parts, self) if node.op == "call_module" else None
                if called is not None:
                    used.update([f"{node.target}.{n}" for n, _ in called.named_modules() if n])
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output=True, **options):
        """The code as that of a class; printed, and returned."""
        body = "\n".join(["    " + line if line.strip() else "" for line in self.code.strip().splitlines()])
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def _made_again(self, graph, state):
        made = GraphModule.__new__(type(self))
        Module.__init__(made)
        type(made).__name__ = type(self).__name__
        made.__dict__.update(state)
        made.graph = graph
        return made

    def _state(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}

    def __copy__(self):
        state = {k: copy.copy(v) if isinstance(v, dict) else v for k, v in self._state().items()}
        return self._made_again(copy.deepcopy(self.graph), state)

    def __deepcopy__(self, memo):
        made = memo[id(self)] = self._made_again(copy.deepcopy(self.graph), copy.deepcopy(self._state(), memo))
        return made

    def __reduce__(self):
        plan = [(n.name, n.op, _named(n.target), n.type) for n in self.graph.nodes]
        places = {n: k for k, n in enumerate(self.graph.nodes)}
        from .node import map_arg
        arguments = [map_arg((n.args, n.kwargs), lambda m: _Place(places[m])) for n in self.graph.nodes]
        return _unpickled, (type(self).__name__, self._state(), plan, arguments)

    def __str__(self):
        return (f"{super().__repr__()}\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`")


def _named(target):
    """A function of torch's by its public name, which is the same however the package was imported; others as they are."""
    name = qualified_name(target) if callable(target) else ""
    return ("torch", *name.split(".")[1:]) if name.startswith("torch.") else target


def _found(target):
    if not isinstance(target, tuple):
        return target
    found = sys.modules[__name__.partition(".")[0]]
    for part in target[1:]:
        found = getattr(found, part)
    return found


class _Place:
    """Stands in a pickle for the step of a number."""

    def __init__(self, k):
        self.k = k


def _unpickled(name, state, plan, arguments):
    from .graph import Graph
    from .node import map_aggregate
    graph, made = Graph(), []
    for (node, op, target, kind), packed in zip(plan, arguments):
        args, kwargs = map_aggregate(packed, lambda x: made[x.k] if isinstance(x, _Place) else x)
        made.append(graph.create_node(op, _found(target), args, kwargs, node, kind))
    module = GraphModule(Module(), Graph(), name)
    module.__dict__.update(state)
    module.graph = graph
    return module
