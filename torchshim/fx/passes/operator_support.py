"""Which steps a backend takes."""
from __future__ import annotations

import abc

from .shape_prop import TensorMetadata
from .tools_common import get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]
_KINDS = ("call_module", "call_function", "call_method")


class OperatorSupportBase(abc.ABC):
    """Says of each step whether it is taken."""

    @abc.abstractmethod
    def is_node_supported(self, submodules, node):
        """Whether a step is taken. submodules: the modules by their paths."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a table {name of what a step calls: None, or (the dtypes of each argument, {name: those of an argument by name})}."""

    def __init__(self, support_dict=None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules, node):
        """Whether a step is in the table, with the dtypes of its arguments (as `meta["tensor_meta"]` tells them)."""
        if node.op not in _KINDS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        said = self._support_dict[target]
        if said is None:
            return True
        places, names = said
        for k, dtypes in enumerate(places):
            if len(node.args) <= k or _dtype(node.args[k]) not in dtypes:
                return False
        return all([name in node.kwargs and _dtype(node.kwargs[name]) in dtypes for name, dtypes in names.items()])


def _dtype(arg):
    found = getattr(arg, "meta", {}).get("tensor_meta")
    return found.dtype if isinstance(found, TensorMetadata) else None


def create_op_support(is_node_supported):
    """An OperatorSupportBase of a function (submodules, step) -> bool."""
    class Functional(OperatorSupportBase):
        def is_node_supported(self, submodules, node):
            return is_node_supported(submodules, node)
    return Functional()


def chain(*op_support):
    """What all of several take."""
    return create_op_support(lambda submods, node: all([s.is_node_supported(submods, node) for s in op_support]))


def any_chain(*op_support):
    """What one of several takes."""
    return create_op_support(lambda submods, node: any([s.is_node_supported(submods, node) for s in op_support]))


class OpSupports:
    """OperatorSupportBases for common wishes."""

    @classmethod
    def decline_if_input_dtype(cls, dtype):
        """Not steps that read a tensor of a dtype. RuntimeError where a step's metadata is missing."""
        def taken(submodules, node):
            for a in node.all_input_nodes:
                if "tensor_meta" in a.meta or "val" in a.meta:
                    known = a.meta.get("tensor_meta", a.meta.get("val"))
                    if getattr(known, "dtype", None) == dtype:
                        return False
            return True
        return create_op_support(taken)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set):
        """Not steps of certain names."""
        return create_op_support(lambda submodules, node: node.name not in disallow_set)
