"""Sizes as symbols: what an operator does at every shape of one pattern is found once, then evaluated for given sizes.

A pattern says of each dimension which others are equal to it. Sizes below `LEAST` stand for themselves in it, as operators
treat them in their own way (empty, broadcast, a cross product's three), and so do those above `MOST`, which 32 bits don't count;
the others are symbols, all different.
"""
from __future__ import annotations

import functools
import operator

from jax import export

LEAST, MOST = 4, 2**31 - 1


def pattern_of(metas):
    """(pattern of the metas' shapes with their dtypes, the sizes that it leaves open in the order they are met)."""
    sizes, pattern = [], []
    for m in metas:
        dims = []
        for n in m.shape:
            if LEAST <= n <= MOST:
                if n not in sizes:
                    sizes.append(n)
                n = ~sizes.index(n)
            dims.append(n)
        pattern.append((m.dtype, tuple(dims)))
    return tuple(pattern), tuple(sizes)


@functools.lru_cache(maxsize=None)
def symbols(count):
    """`count` symbolic dimensions, named d0, d1, ..."""
    if not count:
        return ()
    names = [f"d{i}" for i in range(count)]
    return export.symbolic_shape(", ".join(names), constraints=[f"{n} {c}" for n in names for c in (f">= {LEAST}", f"<= {MOST}")])


def symbolic_shapes(pattern, count):
    """The shapes of a pattern, with symbols for its `count` open sizes."""
    found = symbols(count)                     # from one scope: symbols of different scopes never compare
    return [tuple([found[~n] if n < 0 else n for n in dims]) for _, dims in pattern]


def is_open(data):
    """Whether nested tuples, lists, dicts and jaxprs have a symbolic size in them."""
    if isinstance(data, (tuple, list)):
        return any([is_open(x) for x in data])
    if isinstance(data, dict):
        return any([is_open(x) for x in data.values()])
    jaxpr = getattr(data, "jaxpr", data)
    if hasattr(jaxpr, "eqns"):
        made = [v for eqn in jaxpr.eqns for v in eqn.outvars]
        return is_open([v.aval.shape for v in (*jaxpr.invars, *made) if hasattr(v.aval, "shape")]) or is_open([e.params for e in jaxpr.eqns])
    return data.__class__ is not int and export.is_symbolic_dim(data)


class Sizes:
    """Nested data with symbolic sizes, evaluated all at once for given ones.

    The data is written down as one Python expression of the sizes, so that evaluating it costs about a microsecond.
    """

    def __init__(self, count):
        self._texts, self._names, self._count, self._function = [], dict(_FUNCTIONS), count, None

    def place(self, data):
        """Add data; its index in what `at` returns."""
        self._texts.append(self._text(data))
        self._function = None
        return len(self._texts) - 1

    def at(self, sizes):
        """A tuple of everything placed, for the sizes d0, d1, ..."""
        if self._function is None:
            names = "".join([f"d{i}, " for i in range(self._count)])
            self._function = eval(f"lambda {names}: ({''.join([t + ', ' for t in self._texts])})", self._names)
        return self._function(*sizes)

    def _text(self, data):
        if isinstance(data, (tuple, list)) and is_open(data):
            inside = "".join([self._text(x) + ", " for x in data])
            if hasattr(data, "_fields"):
                return f"{self._constant(type(data))}({inside})"
            return f"[{inside}]" if isinstance(data, list) else f"({inside})"
        if isinstance(data, dict) and is_open(data):
            return "{" + "".join([f"{k!r}: {self._text(v)}, " for k, v in data.items()]) + "}"
        if hasattr(getattr(data, "jaxpr", data), "eqns") and is_open(data):
            raise NotImplementedError("an inner program with symbolic sizes")
        return str(data).replace("^", "**") if is_open(data) else self._constant(data)

    def _constant(self, data):
        name = f"k{len(self._names)}"
        self._names[name] = data
        return name


_FUNCTIONS = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}

