"""symbolic_trace: run a module's forward on Proxies and keep what it did as a graph.

Functions of `torch` take Proxies because these have `__torch_function__`; `wrap` is for functions of the program's own.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types

from .. import Tensor, nn, overrides
from ..nn import Module, Parameter
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase, first_proxy        # noqa: F401  (torch has Proxy here too)

_torch = sys.modules[__name__.partition(".")[0]]
_wrapped = []              # (globals, name) of what `wrap` was called for


def wrap(fn_or_name):
    """Let calls of a function of the calling module (given by name, or as a decorator) be steps of graphs. At module scope only."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


def _looks(f):
    """f, recorded where a Proxy is among its arguments."""
    @functools.wraps(f)
    def recorded(*args, **kwargs):
        proxy = first_proxy((args, kwargs))
        return f(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", f, args, kwargs)
    return recorded


class Tracer(TracerBase):
    """Makes graphs of modules. Subclasses choose by `is_leaf_module` which submodules are steps."""

    def __init__(self, autowrap_modules=(), autowrap_functions=(), param_shapes_constant=False):
        self._more = list(autowrap_functions)
        self._spaces = [vars(m) for m in autowrap_modules]
        self.root = self.graph = None

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a call of a submodule is one step: torch.nn's own are, but for containers that only call others."""
        ours = m.__module__.startswith((f"{_torch.__name__}.nn", "torch.nn"))
        return ours and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod):
        """The name of a submodule; NameError if it is none."""
        name = self._paths.get(id(mod))
        if name is None:
            raise NameError("module is not installed as a submodule")
        return name

    def call_module(self, m, forward, args, kwargs):
        """A step for a leaf module, else what `forward` does."""
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def _leaf(self, x):
        if isinstance(x, Parameter):
            for name, p in self.root.named_parameters():
                if p is x:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(x, Tensor):
            for name, b in self.root.named_buffers():
                if b is x:
                    return self.create_node("get_attr", name, (), {})
            name = self._constants.get(id(x))
            if name is None:
                k = 0
                while hasattr(self.root, f"_tensor_constant{k}"):
                    k += 1
                name = self._constants[id(x)] = f"_tensor_constant{k}"
                setattr(self.root, name, x)
            return self.create_node("get_attr", name, (), {})
        if isinstance(x, Module):
            return self.create_node("get_attr", self.path_of_module(x), (), {})
        return super()._leaf(x)

    def _arguments(self, fn, is_module, concrete):
        names = list(inspect.signature(fn).parameters.values())
        args, kwargs = [], {}
        for p in names:
            if p.name in concrete:
                value = concrete[p.name]
                shown = self.create_proxy("placeholder", f"{p.name}_1", (), {})
                if isinstance(value, (bool, int, float)):
                    self.create_proxy("call_function", _torch._assert,
                                      (shown == value, f"{p.name} has been specialized to have value {value} but got another value"), {})
            else:
                star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
                default = () if p.default is p.empty or star else (p.default,)
                kind = None if p.annotation is p.empty else p.annotation
                value = self.create_proxy("placeholder", star + p.name, default, {}, type_expr=kind)
            if p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            elif p.kind is p.VAR_POSITIONAL:
                args.append(value)
            elif p.kind is p.VAR_KEYWORD:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs

    def trace(self, root, concrete_args=None):
        """The graph of a module or a function. concrete_args: {parameter: value} for those that are fixed."""
        if isinstance(root, Module):
            self.root, fn = root, root.forward
        else:
            self.root, fn = Module(), root
        self._constants = {}
        self._paths = {id(m): n for n, m in self.root.named_modules()}
        self.graph = Graph(tracer_cls=type(self))
        call, fetch, tracer = Module.__call__, Module.__getattr__, self

        def module_call(mod, *args, **kwargs):
            if id(mod) not in tracer._paths or first_proxy((args, kwargs)) is None:
                return call(mod, *args, **kwargs)
            return tracer.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)
        parameters = {}

        def module_getattr(mod, name):
            value = fetch(mod, name)
            if isinstance(value, Parameter):
                for n, p in tracer.root.named_parameters():
                    if p is value:
                        if n not in parameters:
                            parameters[n] = tracer.create_proxy("get_attr", n, (), {})
                        return parameters[n]
            return value
        args, kwargs = self._arguments(fn, isinstance(root, Module), concrete_args or {})
        with self._patched(fn):
            Module.__call__, Module.__getattr__ = module_call, module_getattr
            try:
                result = fn(*args, **kwargs)
            finally:
                Module.__call__, Module.__getattr__ = call, fetch
        annotations = getattr(fn, "__annotations__", {})
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=annotations.get("return"))
        return self.graph

    @contextlib.contextmanager
    def _patched(self, fn):
        """While it lasts, the names of functions that are to be steps mean ones that take Proxies; torch's own ask them (torch.overrides)."""
        overrides.begin()
        table = {f: _looks(f) for f in self._more}
        users = [fn] + [type(m).forward for m in self.root.modules() if not self.is_leaf_module(m, "")]
        spaces = self._spaces + [g for g in [getattr(getattr(u, "__func__", u), "__globals__", None) for u in users] if g is not None]
        undo = []
        for space in {id(s): s for s in spaces}.values():
            for name, value in list(space.items()):
                if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) and value in table:
                    undo.append((space, name, value))
                    space[name] = table[value]
        for space, name in _wrapped:
            import builtins
            known = space.get(name, getattr(builtins, name, None))
            undo.append((space, name, space.get(name)))
            space[name] = _looks(known)
        try:
            yield
        finally:
            for space, name, value in reversed(undo):
                if value is None:
                    space.pop(name, None)
                else:
                    space[name] = value


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of what a module or function does. TraceError where that depends on values."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
