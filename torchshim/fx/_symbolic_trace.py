"""symbolic_trace: run a module's forward on Proxies and keep what it did as a graph.

Functions of `torch` take Proxies because these have `__torch_function__`; `wrap` is for functions of the program's own.
"""
from __future__ import annotations

import builtins
import collections
import copy
import functools
import inspect
import math
import sys
import types
import warnings

from .. import Generator, Tensor, nn, overrides
from ..nn import Module, Parameter
from ..tensor.api.signatures import UNSET
from ..utils import _pytree as pytree
from .codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule
from .node import _get_qualified_name, base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, first_proxy  # noqa: F401  (torch has Proxy here too)

_torch = sys.modules[__name__.partition(".")[0]]
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_wrapped_fns_to_patch: dict = {}         # {(id of globals, name): globals}
_wrapped_methods_to_patch: list = []     # pairs (class, name)
_proxyable_classes: dict = {}
_is_fx_tracing_flag = False
_NONE = inspect.Parameter.empty, UNSET      # what stands where a parameter has no default


def is_fx_tracing():
    """Whether a trace is under way."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: while a trace is under way, making an object of the class from Proxies is a step of the graph."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        made = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)
            return made
        proxy = first_proxy((args, kwargs))
        if proxy is None:
            cls.__init__(made, *args, **kwargs)
            return made
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """A place in `concrete_args` that is to be a placeholder."""

    def __repr__(self):
        return "PH"


class PHWithMeta(PHBase):
    """A PHBase whose attributes the placeholder gets. ph_key: what it is called."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


PH = PHBase()


def _assert_is_none(value, msg):
    assert value is None, msg


class _Patcher:
    """Names of dicts and attributes of classes that mean something else for a while."""

    def __init__(self):
        self._undo, self._seen = [], set()

    def patch(self, space, name, value):
        """Let an entry of a dict be another."""
        self._undo.append((space, name, space.get(name, self)))
        space[name] = value

    def patch_method(self, cls, name, value):
        """Let an attribute of a class be another."""
        self._undo.append((cls, name, getattr(cls, name)))
        setattr(cls, name, value)

    def visit_once(self, thing):
        """Whether this is the first visit."""
        new = id(thing) not in self._seen
        self._seen.add(id(thing))
        return new

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for space, name, value in reversed(self._undo):
            if not isinstance(space, dict):
                setattr(space, name, value)
            elif value is self:
                space.pop(name, None)
            else:
                space[name] = value


def _create_wrapped_func(f):
    """f, recorded where a Proxy is among its arguments."""
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        proxy = first_proxy((args, kwargs))
        if proxy is None:
            return f(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", f, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made
    return wrapped


def _create_wrapped_method(cls, name):
    f = getattr(cls, name)

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        proxy = first_proxy((args, kwargs))
        return f(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
    return wrapped


def _autowrap_check(patcher, space, ids):
    if patcher.visit_once(space):
        for name, value in list(space.items()):
            if not name.startswith("_") and callable(value) and id(value) in ids:
                patcher.patch(space, name, _create_wrapped_func(value))


def wrap(fn_or_name):
    """Let calls of a function of the calling module (given by name, or as a decorator) be steps of graphs. At module scope only."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _is_of_torch(fn):
    return (getattr(fn, "__module__", None) or "").startswith(("torch.nn.functional", f"{_torch.__name__}.nn.functional"))


def _is_compiled(fn):
    """Whether a function is one that torch has compiled, which has no body to trace there."""
    module = getattr(fn, "__module__", None) or ""
    return module.partition(".")[0] in ("torch", _torch.__name__) and _get_qualified_name(fn).rpartition(".")[0] in (
        "torch", "torch.Tensor", "torch._C._nn", "torch._C._linalg", "torch._C._fft", "torch._C._special")


def _star_less(fn, count):
    """A function whose `*args` and `**kwargs` are ordinary parameters, so that each can be one Proxy."""
    code = fn.__code__
    plain = code.replace(co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS), co_argcount=count, co_posonlyargcount=0,
                         co_kwonlyargcount=0)
    return types.FunctionType(plain, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class Tracer(TracerBase):
    """Makes graphs of modules. Subclasses choose by `is_leaf_module` which submodules are steps.

    autowrap_modules: modules of Python whose functions are steps; autowrap_functions: functions that are. param_shapes_constant: shapes of
    parameters are numbers.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_function_ids = {id(v) for m in autowrap_modules for n, v in vars(m).items() if not n.startswith("_") and callable(v)}
        self._autowrap_function_ids.update([id(f) for f in autowrap_functions])
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths, self.root_module_name, self.num_calls = None, "", collections.Counter()
        self.root = self.graph = None

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a call of a submodule is one step: torch.nn's own are, but for containers that only call others."""
        ours = m.__module__.startswith((f"{_torch.__name__}.nn", "torch.nn", f"{_torch.__name__}.ao.nn", "torch.ao.nn"))
        return ours and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod):
        """The name of a submodule; NameError if it is none."""
        paths = self.submodule_paths or {m: n for n, m in self.root.named_modules()}
        name = paths.get(mod)
        if name is None:
            raise NameError("module is not installed as a submodule")
        return name

    def call_module(self, m, forward, args, kwargs):
        """A step for a leaf module, else what `forward` does."""
        name = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(name, type(m))):
            count = self.num_calls[name]
            self.num_calls[name] += 1
            self.module_stack[f"{name}@{count}" if count else name] = (name, type(m))
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What `module.attr` gives while a trace is under way: a Proxy for a parameter."""
        if isinstance(attr_val, Parameter):
            return self._fetched(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._fetched(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _fetched(self, value, named, cache):
        for name, t in named:
            if t is value:
                if name not in cache:
                    options = {}
                    if self.param_shapes_constant and "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
                        options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, value)
                    cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                return cache[name]
        return value

    def get_fresh_qualname(self, prefix):
        """A name `prefix0`, `prefix1` … that the root has no attribute of."""
        k = 0
        while hasattr(self.root, f"{prefix}{k}"):
            k += 1
        return f"{prefix}{k}"

    def create_arg(self, a):
        """An argument as a graph holds it; tensors become attributes of the root."""
        if isinstance(a, Parameter):
            for name, p in self.root.named_parameters():
                if p is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, b in self.root.named_buffers():
                if b is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            for name, m in self.root.named_modules():
                if m is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple([self.create_arg(x) for x in a]), {})
        if isinstance(a, (Tensor, Generator)):
            name = self.tensor_attrs.get(a)
            if name is None:
                name = self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant" if isinstance(a, Tensor) else "_opaque_obj")
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _placeholder(self, name, concrete, signature, annotations):
        parameter = signature.parameters.get(name)
        default = () if parameter is None or parameter.default in _NONE else (parameter.default,)
        if concrete is None or name not in concrete:
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotations.get(name))
        count = 0

        def fixed(x):
            nonlocal count
            count += 1
            out = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(x, PHBase):
                if x is not PH:
                    for attribute, value in vars(x).items():
                        setattr(out.node, attribute, value)
                return out
            if type(x) in base_types and type(x) is not Tensor and x is not None:
                _torch._assert(out == x, f"{name} has been specialized to have value {x} but got another value")
            elif x is None:
                self.create_proxy("call_function", _assert_is_none,
                                  (out, f"{name} has been specialized to have value None but got another value"), {})
            else:
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the "
                              "user to make sure that your inputs match the inputs you specialized the function with.", stacklevel=2)
            return x
        return pytree.tree_map(fixed, concrete[name])

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, arguments): what is to be called, with Proxies. RuntimeError for a method without self."""
        if _is_of_torch(root_fn):
            return self._args_for_torch(root_fn)
        fn = inspect.unwrap(root_fn)
        code, annotations = fn.__code__, fn.__annotations__
        count = code.co_argcount + code.co_kwonlyargcount
        names, args = iter(code.co_varnames), []
        if is_module:
            if not count:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        own = [next(names) for _ in range(count - len(args))]
        if isinstance(concrete_args, tuple):
            if len(own) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(own, concrete_args))
        signature = inspect.signature(fn)
        args += [self._placeholder(n, concrete_args, signature, annotations) for n in own]
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._placeholder(stars + next(names), concrete_args, signature, annotations))
            root_fn = _star_less(root_fn, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if all([child.is_leaf() for child in spec.children()]):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:count]), spec, None))

        def on_leaves(*leaves):
            out, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(leaves), spec)))
            self.graph._codegen.pytree_info = self.graph._codegen.pytree_info._replace(out_spec=out_spec)
            return out
        return on_leaves, flat

    def _args_for_torch(self, fn):
        """`create_args_for_root` of a function of torch's own, which has been given code that asks its arguments first."""
        if hasattr(nn.functional, f"{fn.__name__}_with_indices"):
            self.iter(None)                            # in torch these take `*args`, and hand them on
        signature = inspect.signature(fn)
        # without other names of parameters, as NumPy has them
        said = {n: p for n, p in signature.parameters.items() if p.kind is not p.KEYWORD_ONLY or p.default is not UNSET}
        args = [self._placeholder(n, None, signature, fn.__annotations__) for n in said]
        named = [n for n, p in said.items() if p.kind is p.KEYWORD_ONLY]

        def called(*values):
            return fn(*values[:len(values) - len(named)], **dict(zip(named, values[len(values) - len(named):])))
        return called, args

    def _attributes(self):
        """{tensor: name} of the tensors that lie in modules as plain attributes."""
        found = {}

        def collect(m, prefix):
            found.update([(v, ".".join([*prefix, k])) for k, v in m.__dict__.items() if isinstance(v, (Tensor, Generator))])
            for name, child in m.named_children():
                collect(child, [*prefix, name])
        collect(self.root, [])
        return found

    def trace(self, root, concrete_args=None):
        """The graph of a module or a function. concrete_args: {parameter: value} for those that are fixed; containers with `PH` inside."""
        global _is_fx_tracing_flag
        if isinstance(root, Module):
            self.root, self.root_module_name = root, root._get_name()
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {m: n for n, m in root.named_modules()}
        else:
            self.root, fn = Module(), root
        self.num_calls.clear()
        self.graph = Graph(tracer_cls=type(self))
        if hasattr(fn, "__code__"):
            self.graph._co_fields = {k: getattr(fn.__code__, k) for k in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs = self._attributes()
        if not isinstance(fn, types.FunctionType) or _is_compiled(fn):
            kind = types.BuiltinFunctionType if isinstance(fn, types.FunctionType) else type(fn)
            raise AssertionError(f"Expected FunctionType, got {kind}")
        space = fn.__globals__
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        cache = {}

        def module_getattr(mod, name):
            return self.getattr(name, _orig_module_getattr(mod, name), cache)

        def module_call(mod, *args, **kwargs):
            _autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, lambda *a, **k: _orig_module_call(mod, *a, **k), args, kwargs)
        overrides.begin()
        try:
            fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
            with _Patcher() as patcher:
                patcher.patch_method(Module, "__getattr__", module_getattr)
                patcher.patch_method(Module, "__call__", module_call)
                for (_, name), where in _wrapped_fns_to_patch.copy().items():
                    if name in where or hasattr(builtins, name):
                        patcher.patch(where, name, _create_wrapped_func(where.get(name, getattr(builtins, name, None))))
                for cls, name in _wrapped_methods_to_patch:
                    patcher.patch_method(cls, name, _create_wrapped_method(cls, name))
                _autowrap_check(patcher, space, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=fn.__annotations__.get("return"))
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def __deepcopy__(self, memo):
        made = memo[id(self)] = Tracer.__new__(type(self))
        for k, v in self.__dict__.items():
            made.__dict__[k] = list(v) if k == "_autowrap_search" else copy.deepcopy(v, memo)
        return made


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of what a module or function does. TraceError where that depends on values."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)
