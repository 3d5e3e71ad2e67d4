"""What stands for a value while a program is traced."""
from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import inspect
import operator
import os
import traceback as tb

from .. import overrides
from ..library.namespaces import OpOverload
from ..tensor.core.tensor import Tensor
from . import traceback
from .codegen import magic_methods, reflectable_magic_methods
from .node import Node, base_types, map_aggregate


class TraceError(ValueError):
    """A program that can't be written as a graph."""


class Scope:
    """Where a trace is: the name and class of the module whose forward runs."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which a Scope means another place."""

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *exc):
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """What makes Nodes of calls on Proxies. Subclasses choose by overriding methods, and by these attributes:

    check_mutable_operations: calls of functions that change their arguments raise RuntimeError. record_stack_traces: Nodes keep the lines
    of the program. proxy_buffer_attributes: buffers are Proxies as parameters are.
    """
    graph = None
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self):
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), collections.OrderedDict(), {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Add a step to the graph."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if traceback.has_preserved_node_meta():
            for key, value in traceback.get_current_meta().items():
                node.meta[key] = copy.copy(value)
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace and kind not in ("placeholder", "output"):
            node.stack_trace = "".join(tb.format_list(_program(tb.extract_stack())))
        return node

    def proxy(self, node):
        """A Proxy for a step."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Add a step for a call with Proxies among its arguments; its Proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a):
        """An argument as a graph holds it: Nodes for Proxies. NotImplementedError for what a graph can't hold."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = [self.create_arg(x) for x in a]
            return type(a)(*made) if hasattr(a, "_fields") else type(a)(made)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return dict([(self._key(k), self.create_arg(v)) for k, v in a.items()])
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (*base_types, Node, OpOverload)):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, k):
        k = self.create_arg(k)
        found = []
        map_aggregate(k, lambda x: found.append(x) if isinstance(x, Node) else None)
        if found:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {k}")
        return k

    def to_bool(self, obj):
        """What a Proxy is as a condition: TraceError, what a graph does can't depend on values."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """What a loop over a Proxy goes through: TraceError."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
                         "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types "
                         "of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj):
        """What `obj.keys()` and `**obj` give: a Proxy of the keys."""
        return Attribute(obj, "keys")()


def _program(stack):
    """The frames of a stack that are the program's."""
    here = os.path.dirname(os.path.dirname(__file__))
    return [frame for frame in stack if not frame.filename.startswith((here, "<frozen "))]


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there."""

    def __init__(self, graph):
        super().__init__()
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
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return Attribute(self, name)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        for k, v in self.__dict__.items():
            made.__dict__[k] = copy.deepcopy(v, memo)
        return made

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        frame = inspect.currentframe().f_back
        at = next((i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), None)
        if at is not None and at.opname == "UNPACK_SEQUENCE":          # how many there are is written in the program
            return iter([self[k] for k in range(at.argval)])
        return self.tracer.iter(self)

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                           "torch.fx.wrap('len') at module scope")

    def keys(self):
        """A Proxy of its keys."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        kwargs, tracers = kwargs or {}, {}
        map_aggregate((args, kwargs), lambda x: tracers.setdefault(x.tracer) if isinstance(x, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers))
        name = orig_method.__name__
        if overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        if name == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = args[0], *args[1]               # as torch unpacks operands in a list before it asks
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


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


class ParameterProxy(Proxy):
    """A Proxy of a parameter whose shape is known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, Tensor):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape, doc="Its shape.")
    ndim = property(lambda self: self.param.ndim, doc="The number of its dimensions.")

    def size(self, *args):
        """Its sizes."""
        return self.param.size(*args)

    def dim(self):
        """The number of its dimensions."""
        return self.param.dim()

    def numel(self):
        """The number of its elements."""
        return self.param.numel()

    nelement = numel


def first_proxy(a):
    """Some Proxy in nested containers, or None."""
    found = []
    map_aggregate(a, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found[0] if found else None


def _operator(function, reflected=False):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", function, (args[0], self) if reflected else (self, *args), {})
    return method


for _n in magic_methods:
    setattr(Proxy, f"__{_n.strip('_')}__", _operator(getattr(operator, _n)))
for _n in reflectable_magic_methods:
    setattr(Proxy, f"__r{_n.strip('_')}__", _operator(getattr(operator, _n), True))
Proxy.__hash__ = object.__hash__
