"""One name, several declarations: `max(x)`, `max(x, other)`, `max(x, dim)`.

Overloads are tried in the order of their declaration, as torch's argument parser does: the first whose parameters take the
arguments is called. Which one that is depends on the arguments' types alone, so it is remembered by them.
"""
from __future__ import annotations

import numbers

import numpy as np

from ...engine.record.memo import Memo
from ...engine.site import leaving
from ...ops.registry import REQUIRED
from ..core.device import device as torch_device
from ..core.dispatch import apply1
from ..core.dtype import dtype as torch_dtype
from ..core.handle import TensorBase
from ..core.layout import layout as torch_layout
from ..core.memory_format import memory_format
from ..core.overriding import asked
from .placement import placed

_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim"}
_PRINTED = {"Scalar": "Number", "ScalarType": "torch.dtype", "SymInt": "int", "Device": "torch.device", "Generator": "torch.Generator",
            "Layout": "torch.layout", "MemoryFormat": "torch.memory_format"}


def type_name(x):
    """How torch's argument errors call a type."""
    if isinstance(x, (torch_dtype, torch_device, torch_layout, memory_format)):
        return f"torch.{type(x).__name__}"
    return "Tensor" if isinstance(x, TensorBase) else "numpy.ndarray" if type(x) is np.ndarray else type(x).__name__


def shown_name(p):
    return "input" if p.name == "self" and p.type != "Scalar" else p.name


def _is_int(x):
    if x.__class__ is int:
        return True
    if isinstance(x, TensorBase):
        return x.numel() == 1 and x.ndim == 0 and not (x.is_floating_point() or x.is_complex()) and x.dtype.np != np.bool_
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _is_number(x):
    return isinstance(x, (numbers.Number, np.generic)) or isinstance(x, TensorBase) and x.ndim == 0


def _is_float(x):
    return _is_number(x) and not isinstance(x, (complex, np.complexfloating))


_IS = {
    "int": _is_int, "SymInt": _is_int, "float": _is_float, "Scalar": _is_number, "Number": _is_number,
    "bool": lambda x: isinstance(x, (bool, np.bool_)),
    "str": lambda x: isinstance(x, str), "ScalarType": lambda x: isinstance(x, (torch_dtype, type)),
    "Layout": lambda x: isinstance(x, torch_layout), "MemoryFormat": lambda x: isinstance(x, memory_format),
    "Device": lambda x: isinstance(x, (str, int, torch_device)), "Tensor": lambda x: isinstance(x, TensorBase),
}


def takes(p, x, op):
    """Whether parameter `p` of `op` takes the argument `x`."""
    if x is None:
        return p.optional
    base = p.type.partition("[")[0].rstrip("?")
    fits = _IS.get(base)
    if fits is None:
        return True
    if p.is_list:
        if isinstance(x, (list, tuple)):
            if base in ("int", "SymInt"):      # the others are looked at when they are needed
                return not x or fits(x[0])
            return all([fits(y) or y is None and "?[" in p.type for y in x])
        return p.type.partition("[")[2] != "]" and fits(x)      # int[1] takes an int too
    return fits(x) or base == "Tensor" and p.name in op.numbers and _is_number(x)


class Overload:
    """One declaration among several: what it takes, how torch prints it, and the function that runs it."""

    def __init__(self, op, function, method, out):
        self.op, self.function = op, function
        self.params = op.params[1:] if method else op.params
        self.extra = ("out",) if out else ()
        self.positional = [p for p in self.params if not p.keyword_only]
        pieces, star = [], False
        for p in self.params:
            if p.keyword_only and not star:
                pieces.append("*")
                star = True
            pieces.append(_printed(p))
        if out:
            pieces += (() if star else ("*",)) + (("Tensor" if op.fields is None else "tuple of Tensors") + " out = None",)
        self.pieces = pieces
        self.least = len([p for p in self.params if p.default is REQUIRED])
        self.most = len(self.params) + len(self.extra)

    def bound(self, args, kwargs):
        """[(parameter or None, argument)], or None if the arguments' number or names do not fit."""
        if len(args) > len(self.positional):
            return None
        named = {shown_name(p): p for p in self.params[len(args):]}
        given = list(zip(self.positional, args))
        for k, x in kwargs.items():
            p = named.pop(_OTHER_NAMES.get(k, k), None)
            if p is None and k not in self.extra:
                return None
            given.append((p, x))
        return None if any([p.default is REQUIRED for p in named.values()]) else given

    def matches(self, args, kwargs):
        given = self.bound(args, kwargs)
        return given is not None and all([p is None or takes(p, x, self.op) for p, x in given])

    def complain(self, name, args, kwargs, method):
        """torch's TypeError of the only overload that has as many parameters."""
        if len(args) > len(self.positional):
            n, least = len(self.positional), len([p for p in self.positional if p.default is REQUIRED])
            count = f"{n}" if n == least else f"from {least} to {n}"
            raise TypeError(f"{name}() takes {count} positional argument{'s' * (n != 1)} but {len(args)} "
                            f"{'was' if len(args) == 1 else 'were'} given")
        for i, (p, x) in enumerate(zip(self.positional, args)):
            if not takes(p, x, self.op):
                raise misfit_of(name, p, i + 1, x)
        named = {shown_name(p): p for p in self.params}
        for k, x in kwargs.items():
            p = named.get(_OTHER_NAMES.get(k, k))
            if p is not None and not takes(p, x, self.op):
                raise misfit_of(name, p, None, x)
        given = {_OTHER_NAMES.get(k, k) for k in kwargs}
        missing = [shown_name(p) for p in self.params[len(args):] if p.default is REQUIRED and shown_name(p) not in given]
        unknown = [k for k in kwargs if _OTHER_NAMES.get(k, k) not in named and k not in self.extra]
        if unknown and not missing:
            raise TypeError(f"{name}() got an unexpected keyword argument '{unknown[0]}'")
        listed = ", ".join(f'"{m}"' for m in missing)
        # torch's plural is the wrong way round
        raise TypeError(f"{name}() missing {len(missing)} required positional argument{'s' * (len(missing) == 1)}: {listed}")

    def mismatch(self, args, kwargs):
        """Why it did not match, where torch says so: for overloads with as many pieces as there are arguments."""
        if max(len(self.pieces), 1) != len(args) + len(kwargs):
            return ""
        named = {shown_name(p): p for p in self.params}
        wrong = [k for k in reversed(kwargs) if _OTHER_NAMES.get(k, k) not in named and k not in self.extra]
        if wrong:
            return "      didn't match because some of the keywords were incorrect: " + ", ".join(wrong) + "\n"
        shown = []
        for p, x in zip(self.params, args):
            fits = takes(p, x, self.op) and p.type not in ("Scalar", "Number")         # torch compares names here, and no type has that one
            shown.append(type_name(x) if fits else f"!{type_name(x)}!")
        shown += [f"!{type_name(x)}!" for x in args[len(self.params):]]
        shown += [f"{k}={type_name(x)}" for k, x in reversed(kwargs.items())]
        return f"      didn't match because some of the arguments have invalid types: ({', '.join(shown)})\n"


def misfit_of(name, p, position, x):
    """torch's error for an argument that parameter `p` does not take; position: None where it was given by its name."""
    wanted, found, where = _kind(p), type_name(x), f" (position {position})" if position else ""
    if p.is_list and isinstance(x, (list, tuple)):
        fits = _IS[p.type.partition("[")[0].rstrip("?")]
        at = next((k for k, y in enumerate(x) if not fits(y)), None)
        if at is not None and wanted == "tuple of Tensors":
            return TypeError(f"expected Tensor as element {at} in argument {position - 1 if position else 0}, but got {type_name(x[at])}")
        if at is not None:
            return TypeError(f"{name}(): argument '{shown_name(p)}'{where} must be {wanted}, but found element of type {type_name(x[at])} "
                             f"at pos {at}")
    return TypeError(f"{name}(): argument '{shown_name(p)}'{where} must be {wanted}, not {found}")


def misfit(name, overloads, args, kwargs):
    """torch's error where none of several overloads takes the arguments."""
    got = [type_name(x) for x in args] + [f"{k}={type_name(x)}" for k, x in reversed(kwargs.items())]
    got = ", ".join(got) + (", " if kwargs and not args else "")
    if len(overloads) == 1:
        return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected "
                         f"({', '.join(overloads[0].pieces)})")
    lines = "".join([f" * ({', '.join(o.pieces)})\n{o.mismatch(args, kwargs)}" for o in overloads])
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{lines}")


def _kind(p):
    base = p.type.partition("[")[0].rstrip("?")
    base = _PRINTED.get(base, base)
    return f"tuple of {base}s" if p.is_list else base


def _printed(p):
    said = int(p.default) if isinstance(p.default, float) and p.default == p.default // 1 and p.name != "base" else p.default
    if isinstance(said, (list, tuple)) and said:
        said = "{" + ",".join(map(str, said)) + "}"
        return f"{_kind(p)} {shown_name(p)} = {said}"
    default = "" if p.default is REQUIRED else f' = "{said}"' if isinstance(said, str) else f" = {said}"
    return f"{_kind(p)} {shown_name(p)}{default}"


_LISTS = frozenset((tuple, list))


def _key(x):
    return (x.__class__, x[0].__class__ if x else None) if x.__class__ in (list, tuple) else x.__class__


def foreign(args, error=None):
    """Whether a call failed because it met, first in this program, an argument that wants to be asked; see torchshim/overrides.py."""
    if not isinstance(error, (TypeError, type(None))) or not asked(args):
        return False
    from ...overrides import begun
    return begun(args)


def overloaded(name, overloads, method):
    """The function `name` that calls whichever overload takes its arguments."""
    chosen = Memo(512)
    plain = next((o.op for o in overloads if len(o.op.params) == 1), None)
    layout = plain and plain.layout

    def choose(args, kwargs):
        given = args[1:] if method else args
        for o in overloads:
            if o.matches(given, kwargs):
                return o
        plausible = [o for o in overloads if o.least <= len(given) + len(kwargs) <= o.most]
        if len(plausible) == 1:
            plausible[0].complain(name, given, kwargs, method)
        raise misfit(name, overloads, given, kwargs)

    def f(*args, **kwargs):
        try:
            if layout is not None and len(args) == 1 and not kwargs and isinstance(args[0], TensorBase):
                return apply1(plain, args[0], layout)
            key = tuple(map(type, args)) if not kwargs else (*map(type, args), *kwargs, *map(type, kwargs.values()))
            function = chosen.get(key)
            if function is not None:
                return function(*args, **kwargs)
            lists = not _LISTS.isdisjoint(key)
            if lists:
                key = (tuple([_key(x) for x in args]), tuple([(k, _key(x)) for k, x in kwargs.items()]))
                function = chosen.get(key)
            if function is None:
                function = choose(args, kwargs).function
                if not decided_by_values(args, kwargs):
                    chosen.keep(key, function)
            return function(*args, **kwargs)
        except Exception as error:
            if foreign((*args, *kwargs.values()), error):
                return f(*args, **kwargs)
            raise leaving(error)
    f.__code__ = placed(f.__code__, name, overloads[0].op)
    f.__name__ = f.__qualname__ = name
    f.__module__ = overloads[0].function.__module__
    f.__doc__ = "\n\n".join([o.function.__doc__ for o in overloads])
    return f


def decided_by_values(args, kwargs):
    """Whether more than the types took part: a 0-d tensor may stand for a number, and a list may be mixed."""
    every = [*args[1:], *kwargs.values()]
    return any([isinstance(x, TensorBase) or x.__class__ in (list, tuple) and len({y.__class__ for y in x}) > 1 for x in every])
