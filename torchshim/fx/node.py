"""One step of a graph."""
from __future__ import annotations

import builtins
import enum
import operator
import sys
import types
from typing import Any, Callable, Union

from .. import device, dtype, layout, memory_format
from ..library.namespaces import OpOverload, OpOverloadPacket
from ..tensor.core.tensor import Tensor
from .immutable_collections import immutable_dict, immutable_list

_torch = sys.modules[__name__.partition(".")[0]]
Target = Union[Callable[..., Any], str]
base_types = (str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout, enum.Enum, type(None), type(...))
Argument = Any
_KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions: set = set()
_RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "poisson", "bernoulli",
           "multinomial"}
#: Functions of nn.functional that torch has compiled, under the name that they have there.
COMPILED = {n: n for n in "avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention softplus "
                          "softshrink".split()}
COMPILED["logsigmoid"] = "log_sigmoid"


def has_side_effect(fn):
    """Say that a function does more than to return something, so that its calls stay; returns it."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """fn of each entry of nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        made = [map_aggregate(x, fn) for x in a]
        return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict([(k, map_aggregate(v, fn)) for k, v in a.items()])
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """fn of each Node in nested containers; all else stays. AssertionError where fn can't be called."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _as_torch(module):
    return "torch" + module[len(_torch.__name__):] if module.partition(".")[0] == _torch.__name__ else module


def _get_qualified_name(f):
    """The dotted name of a function as PyTorch has it: torch.relu, torch._C._nn.linear, math.sqrt; a builtin's alone."""
    name = getattr(f, "__name__", None)
    if getattr(builtins, name or "", None) is f:
        return name
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{_as_torch(f.__objclass__.__module__)}.{f.__objclass__.__name__}.{name}"
    module = _as_torch(f.__module__ or "")
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{f}"
    F = _torch.nn.functional
    if name in COMPILED and getattr(F, name) is f:
        return f"torch._C._nn.{COMPILED[name]}"
    if name is not None and getattr(_torch, name, None) is f and module not in ("torch.functional", "math"):
        return f"torch.{name}" if module != "torch" or not _is_composed(f) else f"torch.functional.{name}"
    if name is not None and getattr(_torch.Tensor, name, None) is f:
        return f"torch.Tensor.{name}"
    if getattr(F, name or "", None) is f:
        return f"torch.nn.functional.{name}"
    for space in ("linalg", "fft", "special"):
        if module == f"torch.{space}":
            return f"torch._C._{space}.{name}"
    return f"{module}.{getattr(f, '__qualname__', name) if isinstance(f, type) and '<' not in f.__qualname__ else name}"


def _is_composed(f):
    """Whether torch writes a function in Python, in torch.functional."""
    return f.__name__ in _torch.functional.__all__ and getattr(_torch.functional, f.__name__, None) is f


def _type_repr(obj):
    """A type as text, a builtin's name alone."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{_as_torch(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace(f"{_torch.__name__}.", "torch.")


def _shown(a):
    """Arguments as text, Nodes with a percent sign."""
    if isinstance(a, list):
        return "[" + ", ".join([_shown(x) for x in a]) + "]"
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return "(" + ", ".join([_shown(x) for x in a]) + ("," if len(a) == 1 else "") + ")"
    if isinstance(a, dict):
        return "{" + ", ".join([f"{k}: {_shown(v)}" for k, v in a.items()]) + "}"
    return f"%{a}" if isinstance(a, Node) else str(a)


class Node:
    """One step: `op` is placeholder, get_attr, call_function, call_method, call_module or output; `target` what it calls or reads.

    `args` and `kwargs` hold Nodes for what other steps make; `users` are the steps that use this one; `meta` is free for passes.
    ValueError for a target of the wrong kind.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _KINDS:
            raise AssertionError(f"Unknown op: {op}")
        wanted = "a Callable" if op == "call_function" and not callable(target) else "a str" if op != "call_function" and not isinstance(
            target, str) else None
        if wanted:
            kind = _get_qualified_name(target) if isinstance(target, types.FunctionType) else _type_repr(type(target))
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {kind} but {wanted} is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._args, self._kwargs, self.users, self._input_nodes = (), {}, {}, {}
        self._prev = self._next = self
        self.meta, self._erased, self._repr_fn = {}, False, None
        self._update_args_kwargs(args, kwargs)

    def _update_args_kwargs(self, args, kwargs):
        args, kwargs = map_aggregate((tuple(args), dict(kwargs)), lambda x: x)
        for n in self._input_nodes:
            n.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, {}
        map_arg((args, kwargs), lambda n: self._input_nodes.setdefault(n))
        for n in self._input_nodes:
            n.users[self] = None

    @property
    def args(self):
        """Positional arguments; assigning keeps `users` right."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """Keyword arguments; assigning keeps `users` right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    @property
    def stack_trace(self):
        """The lines of the program that made it, as text; None where nobody kept them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    all_input_nodes = property(lambda self: list(self._input_nodes), doc="The Nodes among the arguments, each once.")
    next = property(lambda self: self._next, doc="The step after it.")
    prev = property(lambda self: self._prev, doc="The step before it.")

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x):
        """Move step x before this one."""
        if self.graph != x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x):
        """Move step x after this one."""
        self._next.prepend(x)

    def update_arg(self, idx, arg):
        """Replace one positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Insert a positional argument."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Replace one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Let the users for which `delete_user_cb` is true use another step; returns these."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has "
                                     ".meta keys")
            replace_with.meta.update(self.meta)
        users = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for u in users:
            u.replace_input_with(self, replace_with)
        return users

    def replace_input_with(self, old_input, new_input):
        """Use `new_input` wherever `old_input` was."""
        swap = lambda n: new_input if n is old_input else n
        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def is_impure(self, impure_random=True):
        """Whether the step must stay even if nothing uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            return (self.target in _side_effectful_functions
                    or impure_random and name in _RANDOM and getattr(_torch, name, None) is self.target)
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """(args, kwargs) with all defaults filled in, or None where the signature is not known.
        See `operator_schemas.normalize_function`."""
        from .operator_schemas import normalize_function, normalize_module
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate):
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace._rename_object(self, self.name)

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator"):
            return f"{'operator' if module == '_operator' else module}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The step as a line of text. The lists, if given, get the parameters' names and the type of what is returned."""
        kind = "" if self.type is None else f"{_type_repr(self.type)} "
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if self.op == "placeholder" and placeholder_names is not None:
            placeholder_names.append(self.target + (f": {_type_repr(self.type)}" if self.type else ""))
            return None
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def _place(self):
        """Where it stands among its graph's steps, for comparisons."""
        for k, n in enumerate(self.graph.nodes):
            if n is self:
                return k
        return -1

    def __lt__(self, other):
        return self._place() < other._place()

    def __gt__(self, other):
        return self._place() > other._place()

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other


has_side_effect(operator.setitem)
