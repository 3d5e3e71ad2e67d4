"""make_fx: a graph of the ATen operators that a function runs, its gradients among them, seen by a mode (torch.utils._python_dispatch)."""
from __future__ import annotations

import functools
import inspect
import types

from ... import SymBool, SymFloat, SymInt, Tensor, ops
from ...amp import casting
from ...dropin import missing_attribute as _missing_attribute
from ...nn import Parameter
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode
from ..._dispatch.python import state, unseen
from .._symbolic_trace import PH, Tracer
from ..graph_module import GraphModule
from ..passes.shape_prop import _extract_tensor_metadata
from ..proxy import Proxy

__all__ = ["PythonKeyTracer", "ProxyTorchDispatchMode", "get_proxy_mode", "make_fx"]
_NO_VALUE = ("It appears that you're trying to get value out of a tracing tensor with {} - erroring out! It's likely that this is caused "
             "by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try setting "
             "tracing_mode='symbolic' in your make_fx call.")


class PythonKeyTracer(Tracer):
    """A Tracer of operators, not of modules: parameters and tensors that the function finds outside are attributes `_param_constant0` …"""

    def call_module(self, m, forward, args, kwargs):
        """What `forward` does: no module is a step."""
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The attribute itself."""
        return attr_val

    def create_arg(self, a):
        """An argument as the graph holds it."""
        if isinstance(a, Parameter):
            for name, p in self.root.named_parameters():
                if p is a:
                    return self.create_node("get_attr", name, (), {})
            name = self.get_fresh_qualname("_param_constant")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Makes each operator a step of a tracer's graph, and computes it. decomposition_table: {overload: a function to run for it}."""

    def __init__(self, tracer, tracing_mode="real", decomposition_table=None):
        super().__init__()
        self.tracer, self.decomposition_table, self.proxies = tracer, decomposition_table or {}, {}

    def track(self, value, proxy):
        """Let a Proxy stand for a tensor, or for the tensors of a list."""
        if isinstance(value, Tensor):
            self.proxies[value] = proxy
            with unseen():
                proxy.node.meta.update(tensor_meta=_extract_tensor_metadata(value), val=value.detach().to("meta"))
        elif isinstance(value, (tuple, list)):
            for k, x in enumerate(value):
                if x is not None:
                    self.track(x, proxy[k])

    def stands_for(self, made, t):
        """Let one tensor be what another is in the graph."""
        if t in self.proxies:
            self.proxies[made] = self.proxies[t]

    def proxied(self, values):
        """Nested containers with Proxies for the tensors that have one."""
        return pytree.tree_map_only(Tensor, lambda t: self.proxies.get(t, t), values)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(casting.state.enabled.values()):
            raise NotImplementedError("torchshim: autocast in a function that make_fx traces")
        if func in self.decomposition_table:
            with self:
                made = self.decomposition_table[func](*args, **kwargs)
            if made is not NotImplemented:
                return made
        name = func.overloadpacket.__name__
        if name == "_local_scalar_dense" and args[0] in self.proxies:
            raise RuntimeError(_NO_VALUE.format(func))
        if name == "lift_fresh":                       # its tensor is the program's constant, which may be written to
            func = ops.aten.lift_fresh_copy.default
        proxy = self.tracer.create_proxy("call_function", func, self.proxied(args), self.proxied(kwargs),
                                         name=self.tracer.graph._target_to_str(func.overloadpacket.__name__))
        made = func(*args, **kwargs)
        if name[-1] == "_" and name[0] != "_" and isinstance(args[0], Tensor):
            self.proxies[args[0]] = proxy
        self.track(made, proxy)
        return made


def get_proxy_mode():
    """The innermost ProxyTorchDispatchMode in whose midst we are, or None."""
    return next((m for m in reversed(state().stack) if isinstance(m, ProxyTorchDispatchMode)), None)


def _named(f, count):
    """A function of `count` parameters, for one whose parameters have no names."""
    names = ", ".join([f"arg{k}" for k in range(count)])
    return eval(f"lambda {names}: _f({names})", {"_f": f})        # noqa: S307


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False,
            record_module_stack=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True, record_stack_traces=False,
            proxy_module_inputs=False):
    """A function that, given arguments, returns a GraphModule of the ATen operators that `f` runs on them. Sizes and numbers are fixed.

    decomposition_table: {overload: a function of operators to trace instead}. AssertionError for another tracing_mode than "real", "fake"
    and "symbolic" (in all of which sizes are numbers here); RuntimeError where `f` asks for a value. After
    https://docs.pytorch.org/docs/stable/fx.experimental.html.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be one of 'real', 'fake', 'symbolic', got {tracing_mode}")
    if pre_dispatch or proxy_module_inputs:
        raise NotImplementedError("torchshim: make_fx(pre_dispatch=, proxy_module_inputs=)")

    @functools.wraps(f)
    def wrapped(*args):
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        mode, flat = ProxyTorchDispatchMode(tracer, tracing_mode, decomposition_table), pytree.tree_leaves(args)
        code = getattr(inspect.unwrap(f), "__code__", None)
        shown = f if isinstance(f, types.FunctionType) and not code.co_flags & inspect.CO_VARARGS else _named(f, len(args))

        @functools.wraps(shown)
        def run(*proxies):
            for x, p in zip(flat, pytree.tree_leaves(proxies)):
                if isinstance(x, Tensor) and isinstance(p, Proxy):
                    mode.track(x, p)
            with mode:
                made = f(*args)
            return mode.proxied(made)
        graph = tracer.trace(run, concrete_args=tuple(pytree.tree_map(lambda _: PH, args)))
        return GraphModule(tracer.root, graph, shown.__name__)
    return wrapped


__getattr__ = _missing_attribute(__name__)


def is_sym_node(node):
    """Whether a step's value is a size that is a symbol."""
    if "val" not in node.meta:
        raise AssertionError("is_sym_node can only be called on proxy nodes")
    return isinstance(node.meta["val"], (SymInt, SymFloat, SymBool))
