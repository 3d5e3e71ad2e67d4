"""Sizes as symbols: what an operator does at every shape of one pattern is found once, then evaluated for given sizes.

A pattern says of each dimension which others are equal to it. Sizes of 0 and 1 stand for themselves in it, as operators treat
them in their own way (empty, broadcast), and so do those above `MOST`, which 32 bits don't count; the others are symbols, all different.
Static arguments that are sizes (an operator says which) are symbols too, equal to dimensions or, where the operator says so, apart
from everything.
"""
from __future__ import annotations

import functools
import operator
from typing import NamedTuple

from jax import export

LEAST, MOST = 2, 2**31 - 1


class Pattern(NamedTuple):
    """`dims`: dtype and dimensions of each array; `values`: static arguments that are sizes. Open sizes are numbered: ~number in a
    dimension, (factor, number) for a multiple. `least` is the smallest that each open size may be, `order` holds pairs (smaller,
    larger) of them."""
    dims: tuple
    values: tuple
    least: tuple
    order: tuple = ()

    def open(self):
        """(shapes, values) with symbols in the places of the open sizes."""
        found = symbols(self.least, self.order)            # from one scope: symbols of different scopes never compare

        def size(n):
            return n[0] * found[n[1]] if n.__class__ is tuple else n
        return ([tuple([found[~n] if n.__class__ is int and n < 0 else size(n) for n in dims]) for _, dims in self.dims],
                tuple([size(v) for v in self.values]))


def pattern_of(metas, values=(), least=LEAST, multiple=None, apart=None):
    """(Pattern of the metas' shapes with their dtypes and of static values, the sizes that it leaves open in the order they are met).
    It is without an order, see `ordered`. `multiple`: dimensions that are so many times an earlier one are told so. `apart`: values from
    there on are open whatever they equal."""
    sizes, dims = [], []
    for m in metas:
        own = []
        for n in m.shape:
            if least <= n <= MOST:
                if multiple and n % multiple == 0 and n // multiple in sizes:
                    n = multiple, sizes.index(n // multiple)
                else:
                    if n not in sizes:
                        sizes.append(n)
                    n = ~sizes.index(n)
            own.append(n)
        dims.append((m.dtype, tuple(own)))
    kept, bounds = [], [least] * len(sizes)
    for v in values:
        n = abs(v)
        if (least if apart is None else apart) <= n <= MOST:
            if apart is not None or n not in sizes:
                sizes.append(n)
                bounds.append(least if apart is None else max(apart, int(v < 0)))
            v = (-1 if v < 0 else 1, len(sizes) - 1 if apart is not None else sizes.index(n))
        kept.append(v)
    return Pattern(tuple(dims), tuple(kept), tuple(bounds)), tuple(sizes)


def ordered(pattern, sizes):
    """A pattern that also says how its sizes are ordered: for what must compare a slice's bound with the dimension."""
    ranked = sorted(range(len(sizes)), key=sizes.__getitem__)
    return pattern._replace(order=tuple(zip(ranked, ranked[1:])))


@functools.lru_cache(maxsize=None)
def symbols(least, order=()):
    """Symbolic dimensions d0, d1, ..., each with its lower bound, of which those in pairs of `order` are ordered so."""
    if not least:
        return ()
    names = [f"d{i}" for i in range(len(least))]
    known = [c for n, low in zip(names, least) for c in (f"{n} >= {low}", f"{n} <= {MOST}")] + [f"d{b} >= d{a} + 1" for a, b in order]
    return export.symbolic_shape(", ".join(names), constraints=known)


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

