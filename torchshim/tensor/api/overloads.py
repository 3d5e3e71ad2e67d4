"""One name, several declarations: `max(x)`, `max(x, other)`, `max(x, dim)`.

Overloads are tried in the order of their declaration, as torch's argument parser does: the first whose parameters take the
arguments is called. Which one that is depends on the arguments' types alone, so it is remembered by them.
"""
from __future__ import annotations

from ...engine.record.memo import Memo
from ...engine.site import leaving
from ...ops.registry import REQUIRED
from ..core.dispatch import apply1
from ..core.handle import TensorBase
from ..core.overriding import asked
from .misfits import complain, misfit
from .parameters import OTHER_NAMES, printed, shown_name, takes
from .placement import placed


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
            pieces.append(printed(p))
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
            p = named.pop(OTHER_NAMES.get(k, k), None)
            if p is None and k not in self.extra:
                return None
            given.append((p, x))
        return None if any([p.default is REQUIRED for p in named.values()]) else given

    def matches(self, args, kwargs):
        given = self.bound(args, kwargs)
        return given is not None and all([self.takes_out(x) if p is None else takes(p, x, self.op) for p, x in given])

    def takes_out(self, x):
        """Whether `out=` may be x."""
        if x is None or self.op.fields is None:
            return x is None or isinstance(x, TensorBase)
        return isinstance(x, (list, tuple)) and all([isinstance(y, TensorBase) for y in x])


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
            complain(plausible[0], name, given, kwargs)
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
