"""Nested tuples, lists and dicts: taken apart and put together again, in the order in which they were written."""
from __future__ import annotations

import collections

LEAF = "leaf"


def flatten(x):
    """(leaves, structure). A structure compares equal to that of anything of the same form."""
    leaves = []
    return leaves, _structure(x, leaves)


def _structure(x, leaves):
    if isinstance(x, (tuple, list)):
        return type(x), None, tuple([_structure(y, leaves) for y in x])
    if type(x) in (dict, collections.OrderedDict):
        return type(x), tuple(x), tuple([_structure(y, leaves) for y in x.values()])
    leaves.append(x)
    return LEAF


def unflatten(leaves, structure):
    """The inverse of `flatten`."""
    return _build(iter(leaves), structure)


def _build(leaves, structure):
    if structure is LEAF:
        return next(leaves)
    cls, keys, parts = structure
    made = [_build(leaves, p) for p in parts]
    if keys is not None:
        return cls(zip(keys, made))
    return cls(*made) if hasattr(cls, "_fields") else cls(made)


def spread(prefix, structure):
    """One entry of `prefix` for each leaf: it has the structure, or a single entry where the structure goes on. None if it
    does not fit."""
    out = []
    return out if _spread(prefix, structure, out) else None


def _spread(prefix, structure, out):
    if prefix is None or isinstance(prefix, int):
        out += [prefix] * _count(structure)
        return True
    if structure is LEAF or type(prefix) is not structure[0] or len(prefix) != len(structure[2]):
        return False
    parts = prefix if structure[1] is None else [prefix.get(k) for k in structure[1]]
    return all([_spread(p, s, out) for p, s in zip(parts, structure[2])])


def _count(structure):
    return 1 if structure is LEAF else sum([_count(s) for s in structure[2]])


def shown(structure):
    """The structure with a star for each leaf."""
    if structure is LEAF:
        return "*"
    cls, keys, parts = structure
    inside = [shown(p) for p in parts]
    if keys is not None:
        return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(keys, inside)) + "}"
    opening, closing = ("[", "]") if issubclass(cls, list) else ("(", ",)" if len(inside) == 1 else ")")
    return opening + ", ".join(inside) + closing
