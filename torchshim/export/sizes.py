"""Sizes that are symbols while a module's call is traced.

Nothing here solves equations. A traced tensor has, beside the sizes of the example, those that it would have for other values of the
symbols (`Symbols.cases`): each operator runs for all of them, without values, and a size of a result is the expression of the symbols that
agrees with it in every case. What the program asks of a size is answered for the example; where other values of the symbols would answer
otherwise, the symbols' ranges become smaller, two symbols become one, or a symbol becomes a number (`Again`), and the call is traced anew.
"""
from __future__ import annotations

import hashlib
import itertools
import math
import random

from .._dispatch.python import state
from .._subclasses.fake_tensor import FakeTensor, _faked
from .._toplevel import SymInt
from ..tensor.core.size import Size

INFINITE = 2 ** 40
CASES = 10                                     # where numbers depend on values


class Again(Exception):
    """The call has to be traced anew: `what` is "fixed", "same" or "range", of `names` (symbols)."""

    def __init__(self, what, names, value=None):
        super().__init__(what, names, value)
        self.what, self.names, self.value = what, names, value


class Expr:
    """A polynomial of symbols and of quotients: {((atom, power), ...): factor}."""
    __slots__ = ("terms",)

    def __init__(self, terms):
        self.terms = {k: c for k, c in terms.items() if c}

    @staticmethod
    def number(n):
        """A constant."""
        return Expr({(): n})

    @staticmethod
    def atom(a):
        """A symbol by its name, or ("//" or "%", Expr, Expr)."""
        return Expr({((a, 1),): 1})

    def __eq__(self, other):
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def constant(self):
        """Its value where it is a number; else None."""
        return self.terms.get((), 0) if all([k == () for k in self.terms]) else None

    def symbol(self):
        """Its name where it is a symbol; else None."""
        if len(self.terms) == 1:
            (k, c), = self.terms.items()
            if c == 1 and len(k) == 1 and k[0][1] == 1 and isinstance(k[0][0], str):
                return k[0][0]
        return None

    def symbols(self):
        """The names of the symbols in it."""
        found = set()
        for k in self.terms:
            for a, _ in k:
                found |= {a} if isinstance(a, str) else a[1].symbols() | a[2].symbols()
        return found

    def __add__(self, other):
        made = dict(self.terms)
        for k, c in other.terms.items():
            made[k] = made.get(k, 0) + c
        return Expr(made)

    def scaled(self, n):
        """Times a number."""
        return Expr({k: c * n for k, c in self.terms.items()})

    def __mul__(self, other):
        made = {}
        for (k, c), (m, d) in itertools.product(self.terms.items(), other.terms.items()):
            powers = dict(k)
            for a, p in m:
                powers[a] = powers.get(a, 0) + p
            key = tuple(sorted(powers.items(), key=lambda ap: _atom_text(ap[0])))
            made[key] = made.get(key, 0) + c * d
        return Expr(made)

    def floordiv(self, other):
        """The quotient towards minus infinity."""
        n = other.constant()
        if n and all([c % n == 0 for c in self.terms.values()]):
            return Expr({k: c // n for k, c in self.terms.items()})
        return Expr.atom(("//", self, other))

    def mod(self, other):
        """The remainder."""
        n = other.constant()
        if n and all([c % n == 0 for c in self.terms.values()]):
            return Expr.number(0)
        return Expr.atom(("%", self, other))

    def at(self, values):
        """Its value for {symbol: number}."""
        total = 0
        for k, c in self.terms.items():
            for a, p in k:
                c *= (values[a] if isinstance(a, str) else a[1].at(values) // a[2].at(values) if a[0] == "//" else
                      a[1].at(values) % a[2].at(values)) ** p
            total += c
        return total

    def replaced(self, a, b):
        """With symbol b for a."""
        total = Expr({})
        for k, c in self.terms.items():
            part = Expr.number(c)
            for atom, p in k:
                new = Expr.atom(b if atom == a else atom) if isinstance(atom, str) else Expr.atom(
                    (atom[0], atom[1].replaced(a, b), atom[2].replaced(a, b)))
                for _ in range(p):
                    part = part * new
            total = total + part
        return total

    def __str__(self):
        if not self.terms:
            return "0"
        parts = []
        for k, c in sorted(self.terms.items(), key=lambda kc: (-sum([p for _, p in kc[0]]), _key_text(kc[0]))):
            body = "*".join([_atom_text(a) + (f"**{p}" if p > 1 else "") for a, p in sorted(k, key=lambda ap: _atom_text(ap[0]))])
            size = abs(c)
            text = str(size) if not body else body if size == 1 else f"{size}*{body}"
            parts.append(("- " if c < 0 else "+ ") + text)
        first = parts[0][2:] if parts[0][0] == "+" else "-" + parts[0][2:]
        return " ".join([first, *parts[1:]])

    __repr__ = __str__


def _atom_text(a):
    if isinstance(a, str):
        return a
    inner = [f"({e})" if len(e.terms) > 1 else str(e) for e in a[1:]]
    return f"(({inner[0]}{a[0]}{inner[1]}))" if a[0] == "//" else f"(({inner[0]}%{inner[1]}))"


def _key_text(k):
    return "*".join([_atom_text(a) for a, _ in k])


class Symbol:
    """One symbol: its name, the example's value and the least and greatest. dim: what dynamic_shapes calls it, or None; strict: whether
    making it a number is an error."""

    def __init__(self, name, hint, least, most, dim, strict, source):
        self.name, self.hint, self.least, self.most, self.dim, self.strict, self.source = name, hint, least, most, dim, strict, source
        self.declared = least, most


class Key(str):
    """A symbol, or an expression of symbols, as range_constraints have it."""

    def __repr__(self):
        return str(self)


class ValueRanges:
    """The least and the greatest value of a symbol."""

    def __init__(self, lower, upper):
        self.lower, self.upper = lower, upper

    is_int = True

    def __eq__(self, other):
        return isinstance(other, ValueRanges) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self):
        return hash((self.lower, self.upper))

    def __repr__(self):
        return f"VR[{self.lower}, {self.upper}]"


class IntInfinity(float):
    """The number above all sizes, and with its sign turned that below them."""

    def __repr__(self):
        return "int_oo" if self > 0 else "-int_oo"

    __str__ = __repr__

    def __neg__(self):
        return IntInfinity(-float(self))


int_oo = IntInfinity("inf")
_PRIMES = [n for n in range(11, 3000) if all([n % k for k in range(2, math.isqrt(n) + 1)])]


class Symbols:
    """The symbols of one trace: {name: Symbol}, and `cases`, {name: value} of the example first and then of others.

    unbacked: {symbol of a number that depends on values: its least and greatest}, see `values`; learned: what earlier traces found out of them.
    """

    def __init__(self, symbols, learned=None):
        self.by_name, self.unbacked, self.learned, self.asserted, self.mode = symbols, {}, dict(learned or ()), set(), None
        self.cases = [{n: s.hint for n, s in symbols.items()}]
        for j in range(3 if learned is None else CASES - 1):
            case = {}
            for k, s in enumerate(symbols.values()):
                low, high = max(s.least, 2), s.most if s.most is not None else INFINITE
                wanted = _PRIMES[(7 * j + 3 * k + 5) % len(_PRIMES)] + s.hint
                case[s.name] = wanted if low <= wanted <= high else low + (wanted * (j + 1)) % (high - low + 1)
            self.cases.append(case)
        self.known = {}
        for n in symbols:
            self.note(Expr.atom(n))

    def fresh(self, least, most):
        """The expression of a new number that depends on values: small and large where its range allows that, as no other is in all cases."""
        if len(self.cases) < CASES:
            raise Again("values", [])
        name = f"u{len(self.unbacked)}"
        least, most = self.unbacked[name] = self.learned.get(name, (least, most))
        low, draw = max(least, 2) if most - max(least, 2) >= 3 else least, random.Random(name)
        for _ in range(64):
            for case in self.cases:
                case[name] = draw.randint(low, min(most, low + draw.choice((2, 9, 30, 400))))
            if self.vector(Expr.atom(name)) not in self.known:
                break
        return self.note(Expr.atom(name))

    def depends(self, expr):
        """Whether an expression depends on values."""
        return bool(self.unbacked) and not self.unbacked.keys().isdisjoint(expr.symbols())

    def vector(self, expr):
        """The values of an expression in all cases."""
        return tuple([expr.at(case) for case in self.cases])

    def note(self, expr):
        """Remember an expression: sizes that agree with it are it."""
        self.known.setdefault(self.vector(expr), expr)
        return expr

    def find(self, values):
        """The expression that has these values in the cases, or a number. NotImplementedError where none is found."""
        if len(set(values)) == 1:
            return values[0]
        found = self.known.get(tuple(values))
        if found is None:
            found = next((e for e in self._guesses(values) if self.vector(e) == tuple(values)), None)
            if found is None:
                raise NotImplementedError(f"torchshim: torch.export of a size that is {values} for {self.cases}")
            self.note(found)
        return found

    def _guesses(self, values):
        bases = list(self.known.values())[:40]
        for e in bases:                        # a e + b
            yield from self._line(e, values)
        for d, f in itertools.combinations_with_replacement(bases[:12], 2):
            yield from self._line(d * f, values)
            yield from self._line(d + f, values)
            yield from self._line(d + f.scaled(-1), values)
        for e in bases[:12]:                   # (e + b) // n + c
            for n in range(2, 65):
                for b in range(-n, n + 1):
                    made = (e + Expr.number(b)).floordiv(Expr.number(n))
                    gap = values[0] - made.at(self.cases[0])
                    if abs(gap) <= 64 and all([v - made.at(case) == gap for v, case in zip(values, self.cases)]):
                        yield made + Expr.number(gap)

    def _line(self, e, values):
        v = self.vector(e)
        k = next((k for k in range(1, len(v)) if v[k] != v[0]), None)
        if k is not None and (values[k] - values[0]) % (v[k] - v[0]) == 0:
            a = (values[k] - values[0]) // (v[k] - v[0])
            if a:
                yield e.scaled(a) + Expr.number(values[0] - a * v[0])

    def decide(self, left, right, holds):
        """What a comparison of two expressions is for the example; Again where the symbols' ranges leave both answers open."""
        gap = left + right.scaled(-1)
        now = holds(gap.at(self.cases[0]))
        names = sorted(gap.symbols(), key=list(self.by_name).index)
        if not names:
            return now
        if len(names) > 1:
            if all([holds(gap.at(case)) == now for case in self.cases]) and not (now and holds(0) and not holds(1)):
                return now                     # as far as is known
            if now and holds(0) and not holds(1) and len(names) == 2:
                raise Again("same", names)
            raise NotImplementedError(f"torchshim: torch.export of a condition on sizes: {left} and {right}")
        s = self.by_name[names[0]]
        low, high = max(s.least, 2), s.most if s.most is not None else INFINITE
        answers = [holds(gap.at({s.name: v})) for v in (low, s.hint, high, *[c[s.name] for c in self.cases])]
        if len(set(answers)) == 1 and not (now and holds(0) and not holds(1)):
            if holds(1) == holds(-1) and not holds(0) and len(gap.terms) <= 2:
                root = [v for v in range(low, min(high, low + 4096) + 1) if not holds(gap.at({s.name: v}))]
                if root:
                    raise NotImplementedError(f"torchshim: torch.export of the condition {left} != {right}")
            return now
        if now and holds(0) and not holds(1):
            raise Again("fixed", names)
        down, up = low, s.hint                 # the ends of the values that answer as the example does
        while down < up:
            middle = (down + up) // 2
            down, up = (down, middle) if holds(gap.at({s.name: middle})) == now else (middle + 1, up)
        first, down, up = up, s.hint, high
        while down < up:
            middle = (down + up + 1) // 2
            down, up = (middle, up) if holds(gap.at({s.name: middle})) == now else (down, middle - 1)
        raise Again("range", names, (first if first > low else s.least, down if down < high else s.most))


class DynamicInt(SymInt):
    """A size: an expression of symbols. steps: how the graph makes it of others, (operator, its arguments)."""
    __slots__ = ("of", "expr", "steps")

    def __init__(self, of, expr, steps=None):
        self.of, self.expr, self.steps = of, of.note(expr), steps

    @property
    def hint(self):
        """Its value in the example."""
        return self.expr.at(self.of.cases[0])

    @property
    def of_values(self):
        """Whether it depends on values."""
        return self.of.depends(self.expr)

    def _with(self, other, made, op, turned=False):
        if made == self.expr:
            return self
        n = made.constant()
        return n if n is not None else DynamicInt(self.of, made, (op, (other, self) if turned else (self, other)))

    def __index__(self):
        if not state().off:
            if self.of.depends(self.expr):
                from .values import unanswered
                raise unanswered(f"Eq({self}, {self.hint})")
            names = sorted(self.expr.symbols())
            raise Again("fixed", names)
        return self.hint

    __int__ = __index__

    def __bool__(self):
        return bool(self != 0)

    def __float__(self):
        raise NotImplementedError(f"torchshim: torch.export of the size {self} as a float")

    def __truediv__(self, other):
        raise NotImplementedError(f"torchshim: torch.export of the size {self} divided to a float")

    __rtruediv__ = __pow__ = __rpow__ = __truediv__

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __abs__(self):
        return self

    def __hash__(self):
        return hash(self.expr)

    def __str__(self):
        return str(self.expr)

    __repr__ = __str__


def _expr(x):
    return x.expr if isinstance(x, DynamicInt) else Expr.number(x) if type(x) is int else None


def _arithmetic(name, of):
    import operator
    op = getattr(operator, name)

    def method(self, other):
        e = _expr(other)
        return NotImplemented if e is None else self._with(other, of(self.expr, e), op)

    def turned(self, other):
        e = _expr(other)
        return NotImplemented if e is None else self._with(other, of(e, self.expr), op, True)
    setattr(DynamicInt, f"__{name}__", method)
    setattr(DynamicInt, f"__r{name}__", turned)


for _name, _of in (("add", lambda a, b: a + b), ("sub", lambda a, b: a + b.scaled(-1)), ("mul", lambda a, b: a * b),
                   ("floordiv", Expr.floordiv), ("mod", Expr.mod)):
    _arithmetic(_name, _of)


def _comparison(name, holds):
    def method(self, other):
        e = _expr(other)
        if e is not None and (self.of.depends(self.expr) or self.of.depends(e)):
            from .values import compared
            return compared(self.of, self.expr, e, name, (self, other), holds)
        return NotImplemented if e is None else self.of.decide(self.expr, e, holds)
    setattr(DynamicInt, f"__{name}__", method)


for _name, _holds in (("eq", lambda g: g == 0), ("ne", lambda g: g != 0), ("lt", lambda g: g < 0), ("le", lambda g: g <= 0),
                      ("gt", lambda g: g > 0), ("ge", lambda g: g >= 0)):
    _comparison(_name, _holds)


class SymbolicTensor(FakeTensor):
    """A tensor without values, some of whose sizes are symbols. sizes: Exprs and numbers; cases: the tensor in each case."""
    sizes, cases, of = (), (), None

    @property
    def shape(self):
        """The sizes; numbers while an operator is computed."""
        plain = FakeTensor.shape.__get__(self)
        if state().off:
            return plain
        return tuple.__new__(Size, [DynamicInt(self.of, e, (_SIZE, (self, k))) if isinstance(e, Expr) else e
                                    for k, e in enumerate(self.sizes)])

    def size(self, dim=None):
        """The sizes, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        """The number of elements."""
        if state().off:
            return FakeTensor.numel(self)
        total = Expr.number(1)
        for e in self.sizes:
            total = total * (e if isinstance(e, Expr) else Expr.number(e))
        return DynamicInt(self.of, total, (_NUMEL, (self,)))

    nelement = numel

    def __len__(self):
        return FakeTensor.__len__(self) if state().off else self.shape[0].__index__()

    def __repr__(self, *, tensor_contents=None):
        said = ", ".join([f"size=({', '.join(map(str, self.sizes))}{',' if len(self.sizes) == 1 else ''})"])
        text = FakeTensor.__repr__(self)
        start = text.index("size=(")
        return text[:start] + said + text[text.index(")", start) + 1:]

    __str__ = __repr__


_SIZE, _NUMEL = "size", "numel"


def value_in(x, k):
    """A tensor or a size, as it is in one case."""
    if isinstance(x, SymbolicTensor):
        return x.cases[k] if k else x
    if isinstance(x, DynamicInt):
        return x.expr.at(x.of.cases[k])
    return x


def symbolic(of, made):
    """A tensor of all its cases, the example's first."""
    first = made[0]
    sizes = [of.find(ns) for ns in zip(*[_plain(t) for t in made])]
    if all([type(n) is int for n in sizes]):
        return first
    first.__class__ = SymbolicTensor
    first.sizes, first.cases, first.of = sizes, made, of
    return first


def in_all_cases(of, made, places, like):
    """The tensor without values `made`, of which the sizes of the dimensions in `places` ({dimension: Expr}) are symbols; laid out as
    `like`."""
    from .. import empty
    cases = [made]
    for case in of.cases[1:]:
        shape = [places[d].at(case) if d in places else n for d, n in enumerate(_plain(like))]
        order = sorted(range(like.ndim), key=lambda d: -like.stride(d))
        back = sorted(range(like.ndim), key=order.__getitem__)
        laid = empty([shape[d] for d in order], dtype=like.dtype, device="meta").permute(back)
        cases.append(_faked(laid, like.device, made.fake_mode))
        if like.requires_grad:
            cases[-1].requires_grad_()
    return symbolic(of, cases)


def _plain(t):
    return tuple.__iter__(FakeTensor.shape.__get__(t))


def name_of(source, taken):
    """The symbol of a size, as torch numbers them."""
    n = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
    while f"s{n}" in taken:
        n += 1
    return f"s{n}"
