"""Graphs with calls written in one way."""
from __future__ import annotations

import operator

from ... import add, div, eq, ge, gt, le, lt, mul, ne, neg, sub
from ..interpreter import Transformer
from ..node import map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module
from ..proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """`transform()`: the module with calls of torch.nn's modules and functions in keywords (or positions, where these are chosen), defaults
    written out."""

    def __init__(self, module, normalize_to_only_use_kwargs=True):
        super().__init__(module)
        self.node_map, self.normalize_to_only_use_kwargs = {}, normalize_to_only_use_kwargs

    def run_node(self, n):
        """What one step becomes."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(x):
            return self.node_map[x].meta.get("type") if isinstance(x, Proxy) else type(x)
        if n.op == "call_function":
            made = self.call_function(n.target, args, kwargs, map_aggregate(n.args, kind), map_aggregate(n.kwargs, kind))
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def call_function(self, target, args, kwargs, arg_types=None, kwarg_types=None):
        """A call of a function, as it is written after this."""
        arg_types = tuple([create_type_hint(t) for t in arg_types or ()])
        try:
            made = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        except RuntimeError:
            made = None
        return super().call_function(target, *(made or (args, kwargs)))

    def call_module(self, target, args, kwargs):
        """A call of a module, as it is written after this."""
        made = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(made or (args, kwargs)))


class NormalizeOperators(Transformer):
    """`transform()`: the module with Python's operators where torch's functions do the same: `torch.add(x, y)` is `x + y`."""
    binary_magic_method_remap = {add: operator.add, mul: operator.mul, sub: operator.sub, div: operator.truediv, ne: operator.ne,
                                 eq: operator.eq, lt: operator.lt, le: operator.le, gt: operator.gt, ge: operator.ge}

    def call_function(self, target, args, kwargs):
        """A call of a function, as it is written after this."""
        if target in self.binary_magic_method_remap and len(args) == 2 and not kwargs:
            target = self.binary_magic_method_remap[target]
        elif target is neg and len(args) == 1 and not kwargs:
            target = operator.neg
        return super().call_function(target, args, kwargs)
