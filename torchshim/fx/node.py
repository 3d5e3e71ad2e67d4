"""One step of a graph."""
from __future__ import annotations

import builtins
import operator
import types
from typing import Any, Callable, Union

from .immutable_collections import immutable_dict, immutable_list

Target = Union[Callable[..., Any], str]
Argument = Any
_side_effects: set = set()


def has_side_effect(fn):
    """Say that a function does more than to return something, so that its calls stay; returns it."""
    _side_effects.add(fn)
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
    """fn of each Node in nested containers; all else stays."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(f):
    """What a function is called from outside: torch.relu, operator.add, len."""
    if getattr(builtins, getattr(f, "__name__", ""), None) is f:
        return f"builtins.{f.__name__}"
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{f.__objclass__.__module__}.{f.__objclass__.__name__}.{f.__name__}"
    from .. import nn
    import sys
    torch, name = sys.modules[__name__.partition(".")[0]], f.__name__
    for space, prefix in ((vars(torch), "torch"), (vars(nn.functional), "torch.nn.functional")):
        if space.get(name) is f:
            return f"{prefix}.{name}"
    module = (f.__module__ or "").replace("torchshim", "torch", 1)
    return f"{'operator' if module == '_operator' else module}.{name}"


class Node:
    """One step: `op` is placeholder, get_attr, call_function, call_method, call_module or output; `target` what it calls or reads.

    `args` and `kwargs` hold Nodes for what other steps make; `users` are the steps that use this one; `meta` is free for passes.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._args, self._kwargs, self.users, self._inputs = (), {}, {}, {}
        self._prev = self._next = self
        self.meta, self._erased, self.stack_trace = {}, False, None
        self._update(args, kwargs)

    def _update(self, args, kwargs):
        args, kwargs = map_aggregate((tuple(args), dict(kwargs)), lambda x: x)
        for n in self._inputs:
            n.users.pop(self, None)
        self._args, self._kwargs, self._inputs = args, kwargs, {}
        map_arg((args, kwargs), lambda n: self._inputs.setdefault(n))
        for n in self._inputs:
            n.users[self] = None

    @property
    def args(self):
        """Positional arguments; assigning keeps `users` right."""
        return self._args

    @args.setter
    def args(self, a):
        self._update(a, self._kwargs)

    @property
    def kwargs(self):
        """Keyword arguments; assigning keeps `users` right."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update(self._args, k)

    all_input_nodes = property(lambda self: list(self._inputs), doc="The Nodes among the arguments, each once.")
    next = property(lambda self: self._next, doc="The step after it.")
    prev = property(lambda self: self._prev, doc="The step before it.")

    def _remove(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x):
        """Move step x before this one."""
        assert self.graph == x.graph, "Attempting to move a Node into a different Graph"
        if self is x:
            return
        x._remove()
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
        args = list(self._args)
        args.insert(idx, arg)
        self.args = tuple(args)

    def update_kwarg(self, key, arg):
        """Replace one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Let the users for which `delete_user_cb` is true use another step; returns the users there were."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = list(self.users)
        for u in users:
            if delete_user_cb(u):
                u.replace_input_with(self, replace_with)
        return users

    def replace_input_with(self, old_input, new_input):
        """Use `new_input` wherever `old_input` was."""
        swap = lambda n: new_input if n is old_input else n
        self._update(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def is_impure(self, impure_random=True):
        """Whether the step must stay even if nothing uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effects or getattr(self.target, "__name__", "") == "_assert"
        if self.op == "call_module":
            module = self.graph.owning_module
            return getattr(module and module.get_submodule(self.target), "is_impure", False)
        return False

    def _pretty_print_target(self, target):
        return target if isinstance(target, str) else qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """The step as a line of text."""
        if self.op == "output":
            return f"return {self.args[0]}"
        kind = "" if self.type is None else f"{_type_text(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"

    def __repr__(self):
        return self.name

    def __reduce__(self):
        raise NotImplementedError("torchshim: pickling a Node; pickle the GraphModule")


def _type_text(kind):
    """A type as text: builtins by name, other classes with their module."""
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias):
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return "..." if kind is ... else kind.__name__ if isinstance(kind, types.FunctionType) else repr(kind)


def _shown(a):
    """Arguments as text, Nodes with a percent sign."""
    if isinstance(a, list):
        return "[" + ", ".join([_shown(x) for x in a]) + "]"
    if isinstance(a, tuple):
        return "(" + ", ".join([_shown(x) for x in a]) + ("," if len(a) == 1 else "") + ")"
    if isinstance(a, dict):
        return "{" + ", ".join([f"{k}: {_shown(v)}" for k, v in a.items()]) + "}"
    return f"%{a}" if isinstance(a, Node) else str(a)


has_side_effect(operator.setitem)
