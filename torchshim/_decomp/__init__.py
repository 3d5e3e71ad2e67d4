"""torch._decomp: tables of what ATen's operators are made of, for `make_fx(f, decomposition_table=...)` and `run_decompositions`.

An operator that torch takes apart and this table lacks stays as it is, which computes the same.
"""
from __future__ import annotations

from collections.abc import Iterable

from ..dropin import missing_attribute as _missing_attribute
from ..library.namespaces import OpOverload, OpOverloadPacket
from ..utils import _pytree as pytree
from .decompositions import rules

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "meta_table", "pre_autograd_decomposition_table",
           "register_decomposition", "remove_decompositions"]
__getattr__ = _missing_attribute(__name__, lazy=("decompositions",))

global_decomposition_table: dict = {"post_autograd": rules(), "pre_autograd": {}, "meta": {}}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(op):
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise RuntimeError(f"Expected OpOverload or OpOverloadPacket, got {op}")


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """A decorator: let the tables take an operator (an overload, a packet, or several) apart as a function does."""
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type}")
    table = global_decomposition_table[type] if registry is None else registry

    def register(fn):
        for op in pytree.tree_leaves(aten_op) if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads(op):
                table[overload] = fn
        return fn
    return register


def get_decompositions(aten_ops: Iterable, type="post_autograd"):
    """{overload: function} for those of the operators that the table knows."""
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops for overload in _overloads(op) if overload in table}


def remove_decompositions(decompositions, aten_ops):
    """Take operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions():
    """What torch.export's `run_decompositions` takes apart."""
    from ..export.decomposing import default_decompositions
    return default_decompositions()
