"""Instances that differ in their shapes only: traced by JAX once, with symbolic sizes, and instantiated in microseconds.

The first Instance of a pattern is traced as it is, since most operators of most programs meet one shape. The second makes the
family. Operators that look at sizes to decide what to compute cannot be traced so; theirs are traced shape by shape. Where no element
meets another, one family, of arrays in one dimension, serves operands of one shape of any rank.
"""
from __future__ import annotations

import jax

from ..device import is_host
from ..record.memo import Memo
from . import gradient
from .cost import weighed
from .instance import NUMBER, jaxpr_of
from .sizes import LEAST, MOST, Sizes, distinct, holding, ordered, pattern_of, undecided

_MOST = 4096
_REGIONS, _GUESSES = 8, 4  # families of one pattern, and what more has to be known until one of them can be made
_FIRST, _REFUSED = "first", "refused"
_met = Memo(_MOST)         # (operator, what decides beside shapes, kinds, pattern, whether flat): _FIRST, or _Regions


class _Regions:
    """The families of a pattern whose operator decides something by comparing sizes: each with the function that tells whether sizes
    are decided as in it. Most have one, for all sizes."""

    def __init__(self):
        self.families, self.missed = [], 0

    def family(self, inst, pattern, sizes, remade, flat):
        """The Family for these sizes; None where there is none."""
        for holds, family in self.families:
            if holds(*sizes):
                return family
        if self.missed or len(self.families) == _REGIONS:
            return None
        pattern, family = _made(inst, pattern, sizes, remade, flat)
        if family is _REFUSED:
            self.missed += 1
            return None
        self.families = [*self.families, (holding(pattern.known, len(sizes)), family)]
        return family


def family_of(inst, key, values=(), remade=None):
    """(Family, sizes) of an Instance about to be made, or (None, None) where it is to be traced by itself.

    `values` are static arguments that are sizes, which `key` is without, and `remade(values)` is (layout, fn) with others.
    """
    op = inst.op
    flat = () if values or not op.elementwise else _in_one_dimension(inst.in_metas)
    pattern, sizes = pattern_of(flat or inst.in_metas, values, op.least, op.multiple, op.apart if op.ordered is None else op.ordered,
                                op.apart is not None, None if flat else op.tied)
    if op.ordered is not None:
        pattern = ordered(pattern, sizes)
    place = op, key, inst.kinds, pattern, bool(flat)       # arrays elsewhere may have one dimension, too
    regions = _met.get(place)
    if regions is None:
        regions = _met.keep(place, _Regions() if flat else _FIRST)
        if not flat:
            return None, None
    if regions is _FIRST:
        regions = _met[place] = _Regions()
    family = regions.family(inst, pattern, sizes, remade, bool(flat))
    return (None, None) if family is None else (family, sizes)


def _in_one_dimension(metas):
    """The Metas of the same arrays with all their elements in one dimension, where they have one shape and are a processor's."""
    first = metas[0] if metas else None
    if first is None or not first.shape or not LEAST <= first.numel <= MOST or not is_host(first.device):
        return ()
    shape, numel = first.shape, first.numel
    if any([m.shape != shape for m in metas]):
        return ()
    return [_Shape((numel,), m.dtype) for m in metas]


def _made(inst, pattern, sizes, remade, flat):
    """(the pattern with what had to be known of its sizes, the Family or _REFUSED)."""
    def make():
        shapes, values = pattern.open()
        metas = [_Shape(shape, dtype) for shape, (dtype, _) in zip(shapes, pattern.dims)]
        layout, fn = remade(values) if values else (inst.layout, inst.fn)
        example = sizes if inst.op.tied is None else distinct(sizes)
        return Family(inst.op, layout, fn, inst.kinds, metas, example, (inst.op.saves, inst.op.twice_saves), flat)

    for _ in range(_GUESSES):
        family, error = _aside(make)
        more = undecided(error, sizes) if family is _REFUSED else None
        if more is None or more in pattern.known:
            break
        pattern = pattern._replace(known=(*pattern.known, more))
    return pattern, family


def _aside(make):
    """(what `make` returns, or _REFUSED where it fails, as a body may that looks at sizes that are no numbers; the error's text), run
    where no frame leads to those of our callers.

    JAX tries whether sizes are numbers and keeps the error, in a cycle with its frame. Were our callers among the frames above that
    one, their values would be held, and look alive to the trace that is computed next, until garbage is collected. A generator that
    waits has no caller; closed, it would have one again, so that it is left to the collector, too. (A thread has none either. It
    begins on another processor, which knows nothing yet: there the same takes twice as long.)
    """
    kept = []
    kept.append(_alone(make, kept))
    return next(kept[0])


def _alone(make, kept):
    made = [_REFUSED, ""]
    try:
        with jax.enable_x64(True):
            made[0] = make()
    except Exception as error:
        made[1] = str(error)
    del make
    yield made


class _Shape:
    """Stands in for a Meta where sizes are symbols: strides and devices have no place there."""
    __slots__ = ("shape", "dtype", "ndim")

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)


class Family:
    """What Instances of one pattern share. To rules of gradients it looks like one of them, with symbolic sizes. flat: with one dimension,
    which has all elements of an Instance's."""

    traced = True

    def __init__(self, op, layout, fn, kinds, in_metas, sizes, saves, flat, jaxpr=None):
        self.op, self.layout, self.fn, self.kinds, self.in_metas = op, layout, fn, kinds, in_metas
        self.example, (self.saves, self.twice_saves), self.flat = sizes, saves, flat
        avals = [jax.ShapeDtypeStruct(m.shape, m.dtype) for m in in_metas] + [NUMBER[k] for k in self.kinds]
        self.jaxpr = jaxpr or jaxpr_of(self.fn, *avals)
        self.out_metas = [_Shape(a.shape, a.dtype) for a in self.jaxpr.out_avals]
        self._shapes = Sizes(sizes)
        self._shapes.place([(a.shape, a.dtype) for a in self.jaxpr.out_avals])
        self._shapes.place(weighed(self.jaxpr.jaxpr))
        self.diff_outs = ()
        self._pullbacks, self._program = {}, None
        self._shapes.at(sizes)

    def results(self, sizes, metas):
        """(shape, dtype) of each result of operands with these Metas."""
        made = self._shapes.at(sizes)[0]
        return [(metas[0].shape, dtype) for _, dtype in made] if self.flat else made

    def weight(self, sizes):
        """What `cost.weighed` says of an Instance."""
        return self._shapes.at(sizes)[1]

    def interpreted(self, sizes):
        """The interpreter of the Instance with these sizes; None where it has to be built by itself."""
        if self._program is None:
            from ..interpret import OpenProgram
            self._program, _ = _aside(lambda: OpenProgram(self.jaxpr, self.example, len(self.kinds)))
        made = None if self._program is _REFUSED else self._program.at(sizes)
        return _flattening(made) if made and self.flat and self._program.shaped else made

    def derived(self, inst, needs, rule):
        """(what is kept, function of the vjp, its Family or None, what is kept and not read) for an Instance of this family; None: it is to be
        traced itself."""
        key = needs, inst.diff_ins, inst.diff_outs
        found = self._pullbacks.get(key)
        if found is None:
            self.diff_outs = inst.diff_outs
            wrt = [i for i in inst.diff_ins if needs >> i & 1]
            found = self._pullbacks[key] = _aside(lambda: _Pullback(self, wrt, rule))[0]
        return None if found is _REFUSED else found.derived(inst)


def _flattening(run):
    """`run`, of arrays with one dimension, of arrays of one shape."""
    def flattening(*args):
        shape = args[0].shape
        if len(shape) == 1:
            return run(*args)
        return [a.reshape(shape) for a in run(*[a.reshape(-1) if a.ndim else a for a in args])]
    return flattening


class _Pullback(gradient.Pullback):
    """The pullback of a Family: what is kept is chosen for given sizes."""

    def __init__(self, family, wrt, rule):
        super().__init__(family, wrt, rule, family.saves)
        self.family, self.wrt, self.rule, self.families = family, wrt, rule, {}

    def derived(self, inst):
        kept = self.cheapest(inst)
        found = self.families.get(kept[:2])
        if found is None:
            found = self.families[kept[:2]] = self._family(*kept)
        function = gradient.later(inst, self.wrt, self.rule, self.family.saves, kept)
        return None if found is _REFUSED else (kept, function, found, self.unread(*kept))

    def _family(self, args, outs, nums, eqns):
        family = self.family
        metas = [family.in_metas[i] for i in args] + [family.out_metas[k] for k in outs + family.diff_outs]
        kinds = "".join([family.kinds[i] for i in nums])
        kept = args, outs, nums, eqns
        return _aside(lambda: Family(family.op, (), self.function(*kept), kinds, metas, family.example, (family.twice_saves, None), family.flat,
                                     self.jaxpr(*kept)))[0]
