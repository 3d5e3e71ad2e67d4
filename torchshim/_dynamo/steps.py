"""The steps of a function that is captured, before they are a graph: calls with Values in the places of tensors."""
from __future__ import annotations

from .. import Tensor, device, dtype, layout, memory_format
from ..tensor.core.size import Size

_CONSTANTS = frozenset((bool, int, float, complex, str, type(None), type(...), dtype, device, layout, memory_format))


class Value:
    """A tensor of a graph: what it is (`fake`), and an input (`real`) or a reference to the tensor that the program holds for it."""
    __slots__ = ("index", "fake", "real", "handle", "hint")

    def __init__(self, index, fake, real=None, hint=None):
        self.index, self.fake, self.real, self.handle, self.hint = index, fake, real, None, hint


class Step:
    """One call: `result` has Values in the places of tensors, `becomes` tells what the program calls it."""
    __slots__ = ("kind", "target", "args", "kwargs", "result", "becomes", "place", "fields")

    def __init__(self, kind, target, args, kwargs, result=None, becomes=None, place=None, fields=None):
        self.kind, self.target, self.args, self.kwargs = kind, target, args, kwargs
        self.result, self.becomes, self.place, self.fields = result, becomes, place, fields


class Unknown(Exception):
    """An argument that a graph does not hold."""


def mapped(x, of):
    """An argument with `of` each tensor. Unknown for what a graph does not hold."""
    kind = type(x)
    if kind in _CONSTANTS:
        return x
    if isinstance(x, Tensor):
        return of(x)
    if kind is tuple or kind is list:
        return kind([mapped(y, of) for y in x])
    if kind is dict:
        return {k: mapped(y, of) for k, y in x.items()}
    if kind is slice:
        return slice(mapped(x.start, of), mapped(x.stop, of), mapped(x.step, of))
    if kind is Size:
        return tuple(x)
    raise Unknown


def fakes(x):
    """An argument with the tensors without values for the Values in it."""
    kind = type(x)
    if kind is Value:
        return x.fake
    if kind is tuple or kind is list:
        return kind([fakes(y) for y in x])
    if kind is dict:
        return {k: fakes(y) for k, y in x.items()}
    if kind is slice:
        return slice(fakes(x.start), fakes(x.stop), fakes(x.step))
    return x


def key_of(x):
    """An argument as a part of what graphs are told apart by."""
    kind = type(x)
    if kind is Value:
        return x.index, Value
    if kind is tuple or kind is list:
        return kind, *[key_of(y) for y in x]
    if kind is dict:
        return kind, *[(k, key_of(y)) for k, y in x.items()]
    if kind is slice:
        return kind, key_of(x.start), key_of(x.stop), key_of(x.step)
    return (kind, repr(x)) if kind in (float, complex) else (kind, x)


def values(xs):
    found = []
    for x in xs:
        if type(x) is Value:
            found.append(x)
        elif type(x) in (list, tuple):
            found += values(x)
        elif type(x) is dict:
            found += values(x.values())
    return found
