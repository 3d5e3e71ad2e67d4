"""Sizes as symbols: what an operator does at every shape of one pattern is found once, then evaluated for given sizes.

A pattern says of each dimension which others are equal to it. Sizes of 0 and 1 stand for themselves in it, as operators treat
them in their own way (empty, broadcast), and so do those above `MOST`, which 32 bits don't count; the others are symbols, all different.
Static arguments that are sizes (an operator says which) are symbols too, equal to dimensions or, where the operator says so, apart
from everything.
"""
from __future__ import annotations

import functools
import operator
import re
from typing import NamedTuple

from jax import export

LEAST, MOST = 2, 2**31 - 1


class Pattern(NamedTuple):
    """`dims`: dtype and dimensions of each array; `values`: static arguments that are sizes. Open sizes are numbered: ~number in a
    dimension, (factor, number) for a multiple. `least` is the smallest that each open size may be, `order` holds pairs (smaller,
    larger) of them, `known` what else is known of them, as "d0*d1 >= 9"."""
    dims: tuple
    values: tuple
    least: tuple
    order: tuple = ()
    known: tuple = ()

    def open(self):
        """(shapes, values) with symbols in the places of the open sizes."""
        found = symbols(self.least, self.order, self.known)        # from one scope: symbols of different scopes never compare

        def size(n):
            return n[0] * found[n[1]] if n.__class__ is tuple else n
        return ([tuple([found[~n] if n.__class__ is int and n < 0 else size(n) for n in dims]) for _, dims in self.dims],
                tuple([size(v) for v in self.values]))


def pattern_of(metas, values=(), least=LEAST, multiple=None, start=None, apart=False, tied=None):
    """(Pattern of the metas' shapes with their dtypes and of static values, the sizes that it leaves open in the order they are met).
    It is without an order, see `ordered`. `multiple`: dimensions that are so many times an earlier one are told so. Values are open from
    `start` on (by default `least`), where they are `apart` whatever they equal. `tied`: the places (operand, dimension) that have the size of
    another place, which it gives; all others are apart then."""
    start = least if start is None else start
    sizes, dims, places = [], [], {}
    for k, m in enumerate(metas):
        own = []
        for d, n in enumerate(m.shape):
            if least <= n <= MOST:
                if tied is not None:
                    at = places.get(tied.get((k, d)))
                    if at is None:
                        at = len(sizes)
                        sizes.append(n)
                    places[k, d] = at
                    n = ~at
                elif multiple and n % multiple == 0 and n // multiple in sizes:
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
        if start <= n <= MOST:
            if apart or n not in sizes:
                sizes.append(n)
                bounds.append(max(start, int(v < 0)))
            v = (-1 if v < 0 else 1, len(sizes) - 1 if apart else sizes.index(n))
        kept.append(v)
    return Pattern(tuple(dims), tuple(kept), tuple(bounds)), tuple(sizes)


def distinct(sizes):
    """Sizes like these of which no two are equal, as an example for those that are apart."""
    made = []
    for n in sizes:
        while n in made:
            n += 1
        made.append(n)
    return tuple(made)


def ordered(pattern, sizes):
    """A pattern that also says how its sizes are ordered: for what must compare a slice's bound with the dimension."""
    ranked = sorted(range(len(sizes)), key=sizes.__getitem__)
    return pattern._replace(order=tuple(zip(ranked, ranked[1:])))


@functools.lru_cache(maxsize=None)
def symbols(least, order=(), known=()):
    """Symbolic dimensions d0, d1, ..., each with its lower bound, of which those in pairs of `order` are ordered so."""
    if not least:
        return ()
    names = [f"d{i}" for i in range(len(least))]
    bounds = [c for n, low in zip(names, least) for c in (f"{n} >= {low}", f"{n} <= {MOST}")] + [f"d{b} >= d{a} + 1" for a, b in order]
    return export.symbolic_shape(", ".join(names), constraints=(*bounds, *known))


_UNDECIDED = re.compile(r"comparison '([^']+)' (>=|<=|>|<) '([^']+)' is inconclusive")


def undecided(error, sizes):
    """What would have to be known of symbols, and is true of `sizes`, for the comparison that JAX could not decide, as its error says;
    None where that says nothing of the kind."""
    said = _UNDECIDED.search(error)
    if said is None:
        return None
    left, sign, right = said.groups()
    if sign in ("<=", ">"):                    # JAX asks whether the one is at least the other
        left, right = right, left
    try:
        return f"{left} >= {right}" if holding((f"{left} >= {right}",), len(sizes))(*sizes) else f"{right} >= {left} + 1"
    except (NameError, SyntaxError):
        return None


@functools.lru_cache(maxsize=512)
def holding(known, number):
    """A function of so many sizes that tells whether all that is `known` of the symbols is true of them."""
    return eval(f"lambda {', '.join([f'd{k}' for k in range(number)])}: {' and '.join(known).replace('^', '**') or True}", dict(_FUNCTIONS))


def is_open(data):
    """Whether nested tuples, lists, dicts and jaxprs have a symbolic size in them."""
    if isinstance(data, (tuple, list)):
        return any([is_open(x) for x in data])
    if isinstance(data, dict):
        return any([is_open(x) for x in data.values()])
    jaxpr = getattr(data, "jaxpr", data)
    if hasattr(jaxpr, "eqns"):
        made = [v for eqn in jaxpr.eqns for v in eqn.outvars]
        return (is_open([v.aval.shape for v in (*jaxpr.invars, *made) if hasattr(v.aval, "shape")])
                or is_open([e.params for e in jaxpr.eqns]))
    return data.__class__ is not int and export.is_symbolic_dim(data)


class Sizes:
    """Nested data with symbolic sizes, evaluated all at once for given ones.

    The data is written down as one Python expression of the sizes, so that evaluating it costs about a microsecond. What data is for
    the sizes `example` is told while it is read.
    """

    def __init__(self, example):
        self._example = {f"d{i}": n for i, n in enumerate(example)}
        self._texts, self._names, self._function = [], dict(_FUNCTIONS), None

    def place(self, data):
        """Add data; its index in what `at` returns."""
        text, _ = self.read(data)
        return self.add(self._constant(data) if text is None else text)

    def add(self, text):
        """Add data that was read; its index in what `at` returns."""
        self._texts.append(text)
        self._function = None
        return len(self._texts) - 1

    def at(self, sizes):
        """A tuple of everything placed, for the sizes d0, d1, ..."""
        if self._function is None:
            self._function = eval(f"lambda {', '.join(self._example)}: ({''.join([t + ', ' for t in self._texts])})", self._names)
        return self._function(*sizes)

    def read(self, data):
        """(data with symbolic sizes as text, what it is for the example); (None, data) where no size in it is symbolic."""
        if isinstance(data, (tuple, list)):
            found = [self.read(x) for x in data]
            texts, values = [t for t, _ in found], [v for _, v in found]
            if not any(texts):
                return None, data
            inside = "".join([(t or self._constant(x)) + ", " for t, x in zip(texts, data)])
            if isinstance(data, list):
                return f"[{inside}]", values
            if hasattr(data, "_fields"):
                return f"{self._constant(type(data))}({inside})", type(data)(*values)
            return f"({inside})", tuple(values)
        if isinstance(data, dict):
            text, values = self.read(tuple(data.values()))
            return text and f"dict(zip({self._constant(tuple(data))}, {text}))", dict(zip(data, values)) if text else data
        if data.__class__ is int or data.__class__ is str or data is None:
            return None, data
        if export.is_symbolic_dim(data):
            text = str(data).replace("^", "**")
            known = self._example.get(text)
            return text, eval(text, self._names, self._example) if known is None else known
        if hasattr(getattr(data, "jaxpr", data), "eqns") and is_open(data):
            raise NotImplementedError("an inner program with symbolic sizes")
        return None, data

    def _constant(self, data):
        if data.__class__ is int or data is None:
            return repr(data)
        name = f"k{len(self._names)}"
        self._names[name] = data
        return name


_FUNCTIONS = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}
