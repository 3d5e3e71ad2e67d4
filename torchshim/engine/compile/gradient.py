"""How an Instance is differentiated: what its backward needs, found in the jaxpr of its pullback.

The pullback is traced with everything as input: operands, numbers and cotangents. Dead code aside, what it still reads
is what has to be saved; where it recomputes a result of the forward pass, that result may be saved in the operands' place.
"""
from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..record.memo import Memo
from ..record.meta import meta_of
from .conjugate import pushed
from .instance import NUMBER, bind_eqns, core, jaxpr_of
from .lowering import Application

_influences = Memo(4096)


class Plan:
    """How an Instance differentiates for one set of inputs that need it.

    `args` are the inputs the backward reads, `outs` the outputs it reads (`exp` needs only its result), `nums` the
    numbers; `vjp` is the operator that maps (saved..., cotangents of `cts`, numbers) to the gradients of `needs`. `unread`: which of
    what is saved it does not read. `readers`, `passed`, `parts`, `node_class`, `twice`, `copied`, `bare`: what autograd found out about that.
    """
    __slots__ = ("inst", "needs", "args", "outs", "cts", "vjp", "nums", "vjp_kinds", "unread", "readers", "passed", "parts", "node_class",
                 "twice", "copied", "bare")

    def __init__(self, inst, needs, args=(), outs=(), nums=(), vjp=None):
        self.inst, self.args, self.outs, self.nums, self.vjp = inst, args, outs, nums, vjp
        self.needs = tuple([i for i in inst.diff_ins if needs >> i & 1])
        self.cts, self.vjp_kinds = tuple(inst.diff_outs), "".join([inst.kinds[i] for i in nums])
        self.readers = self.passed = self.parts = self.node_class = self.twice = None
        self.unread = self.copied = self.bare = ()

    def joint(self):
        """A Joint of the Instance and its backward, None where both together run no loop that the other could spare."""
        inst = self.inst
        if inst.kinds or inst.wide is not None or not any([eqn.primitive.name == "scan" for eqn in inst.jaxpr.jaxpr.eqns]):
            return None
        with jax.enable_x64(True):
            joint = Joint(Pullback(inst, list(self.needs), inst.op.rule))
        return joint if joint.spares else None


class Reads(NamedTuple):
    """What a gradient reads, told without tracing it: the operands, results and numbers that a Plan keeps, which of the former two nothing
    reads, and what `cost.weighed` would say of its program."""
    args: tuple
    outs: tuple
    nums: tuple
    unread: tuple
    weight: tuple


def derived(inst, needs, rule):
    """(Plan, function of its vjp, its jaxpr or None, its Family or None, what it weighs or None) from the Instance's own function, or from
    `rule` in its place."""
    wrt = [i for i in inst.diff_ins if needs >> i & 1]
    known = inst.op.reads and inst.op.reads(inst, wrt)
    empty = any([m.numel == 0 for m in inst.in_metas])         # then costs tell nothing
    shared = not known and not empty and inst.family and inst.family.derived(inst, needs, rule)
    if known:
        kept, unread, jaxpr, family = known[:3], known.unread, None, None
        function = later(inst, wrt, rule, inst.op.saves, kept)
    elif shared:
        (kept, function, family, unread), jaxpr = shared, None
    else:
        traced = Pullback(inst, wrt, rule, inst.op.saves)
        kept = traced.cheapest(inst)
        if empty:
            kept, unread = _as_of_some(inst, wrt, rule, kept), ()
        else:
            unread = traced.unread(*kept)
        function, jaxpr, family = traced.function(*kept), traced.jaxpr(*kept), None
    plan = Plan(inst, needs, *kept[:3])
    plan.unread = unread
    return plan, function, jaxpr, family, known.weight if known else None


def later(inst, wrt, rule, saves, kept):
    """The pullback as a function of what is kept, the cotangents and the numbers, traced when a program needs it."""
    def vjp(*flat):
        traced = Pullback(inst, wrt, rule, saves)
        # with symbols JAX may have met a result again that it makes twice here: then not all that is kept is read
        *_, eqns = next(choice for choice in traced.choices if all([set(read) <= set(k) for read, k in zip(choice[:3], kept)]))
        return traced.function(*kept[:3], eqns)(*flat)
    return vjp


class Pullback:
    """The jaxpr of (operands, numbers, cotangents) -> (results, gradients of `wrt`), its variables by what they are.
    The results are there only to be recognised. `saves`: see `Operator.saves`. JAX differentiates the Instance's jaxpr where there is one:
    bodies in jax.numpy take longer to be gone through once more."""

    def __init__(self, inst, wrt, rule, saves=None):
        avals = [jax.ShapeDtypeStruct(m.shape, m.dtype) for m in inst.in_metas] + [NUMBER[k] for k in inst.kinds]
        cts = [jax.ShapeDtypeStruct(inst.out_metas[o].shape, inst.out_metas[o].dtype) for o in inst.diff_outs]
        self.closed = rounded_once(inlined(jaxpr_of(_pullback(inst, wrt, rule), *avals, *cts)))
        if rule is None and any([inst.in_metas[i].dtype.kind == "c" for i in wrt]):
            self.closed = pushed(self.closed, len(inst.out_metas), len(cts))
        jaxpr, n, made = self.closed.jaxpr, len(inst.in_metas), len(inst.out_metas)
        self.results, self.gradients = jaxpr.outvars[:made], jaxpr.outvars[made:]
        self.operands, self.numbers, self.cotangents = jaxpr.invars[:n], jaxpr.invars[n:len(avals)], jaxpr.invars[len(avals):]
        named = {}
        for k, v in enumerate(self.results):
            if not isinstance(v, core().Literal) and v not in self.operands:
                named.setdefault(v, k)
        saves = saves and saves(inst, wrt)
        if saves is None:
            self.choices = self._kept({}), self._kept(named)
        else:
            kept = self._kept({v: k for v, k in named.items() if k in saves}, saves)
            self.choices = kept, kept

    def _kept(self, known, always=()):
        eqns, free = needed(self.closed.jaxpr, self.gradients, known)
        args = tuple([i for i, v in enumerate(self.operands) if v in free or ~i in always])
        outs = tuple(sorted({k for v, k in known.items() if v in free} | {k for k in always if k >= 0}))
        return args, outs, tuple([i for i, v in enumerate(self.numbers) if v in free]), eqns

    def cheapest(self, inst):
        """(operands, results and numbers to keep, equations to run): with results where that holds less memory, or fewer operands,
        which may be written before backward comes."""
        other, one = self.choices
        better = _cost(inst, one) < _cost(inst, other) or bool(one[1]) and len(one[0]) < len(other[0])
        return one if better else other

    def _given(self, args, outs, nums):
        """The variables of what is kept, the cotangents and the numbers; None for a result that is a number wherever it is read."""
        given = [self.operands[i] for i in args] + [self.results[k] for k in outs] + self.cotangents + [self.numbers[i] for i in nums]
        return [None if isinstance(v, core().Literal) else v for v in given]

    def unread(self, args, outs, nums, eqns):
        """Which of what is kept nothing reads: it is kept as torch keeps it."""
        read = {v for e in eqns for v in e.invars if not isinstance(v, core().Literal)}
        read.update([v for v in self.gradients if not isinstance(v, core().Literal)])
        return tuple([k for k, v in enumerate(self._given(args, outs, nums)[:len(args) + len(outs)]) if v not in read])

    def jaxpr(self, args, outs, nums, eqns):
        """`function` as a jaxpr, which is a part of this one; None where it has to be traced."""
        given, Literal = self._given(args, outs, nums), core().Literal
        if None in given or len({*given}) < len(given) or any([isinstance(v, Literal) for v in self.gradients]):
            return None
        known, read = {*given, *[v for e in eqns for v in e.outvars]}, [v for e in eqns for v in e.invars] + self.gradients
        free = {v for v in read if not isinstance(v, Literal)} - known
        constants = [(v, c) for v, c in zip(self.closed.jaxpr.constvars, self.closed.consts) if v in free]
        if len(constants) < len(free):
            return None
        names = core().DebugInfo("backward", "pullback", None, None)
        made = core().Jaxpr([v for v, _ in constants], given, self.gradients, eqns, debug_info=names)
        return core().ClosedJaxpr(made, [c for _, c in constants])

    def function(self, args, outs, nums, eqns):
        """The pullback as a function of what is kept, the cotangents and the numbers."""
        jaxpr, gradients = self.closed.jaxpr, self.gradients
        constants = dict(zip(jaxpr.constvars, self.closed.consts))
        given = self._given(args, outs, nums)

        def vjp(*flat):
            env = dict(constants)
            env.update(zip(given, flat, strict=True))
            read = lambda v: v.val if isinstance(v, core().Literal) else env[v]
            bind_eqns(eqns, env, read)
            # jnp.asarray: a gradient can be a literal (zero)
            return [jnp.asarray(read(v), v.aval.dtype) for v in gradients]
        return vjp


class Joint:
    """A forward and its backward in one program. The pullback computes the results once more, and as a rule XLA sees that it does; two
    loops, one of which keeps more than the other, it never takes for one. So the forward's results are those of the pullback's loop.

    spares: whether there is such a loop."""
    __slots__ = ("pullback", "first", "rest", "spares")

    def __init__(self, pullback):
        self.pullback, self.first, self.rest = pullback, [], []
        jaxpr, later = pullback.closed.jaxpr, {*pullback.cotangents}
        for eqn in jaxpr.eqns:
            if any([v in later for v in eqn.invars if not isinstance(v, core().Literal)]):
                later.update(eqn.outvars)
                self.rest.append(eqn)
            else:
                self.first.append(eqn)
        loops = [{id(e) for e in needed(jaxpr, wanted, {})[0] if e.primitive.name == "scan"}
                 for wanted in (pullback.results, pullback.gradients)]
        self.spares = later.isdisjoint([v for v in pullback.results if not isinstance(v, core().Literal)]) and not loops[0].isdisjoint(
            loops[1])

    def forward(self, fence, *operands):
        """(the results, what `backward` goes on with)"""
        application = Application(self.pullback.closed, operands, fence)
        application.run(self.first)
        return self._read(application, self.pullback.results), application

    def backward(self, application, cotangents):
        """The gradients."""
        application.env.update(zip(self.pullback.cotangents, cotangents))
        application.run(self.rest)
        return self._read(application, self.pullback.gradients)

    def _read(self, application, variables):
        return [jnp.asarray(application.read(v), v.aval.dtype) for v in variables]


class _Some:
    """An Instance without elements as it would be with some."""

    def __init__(self, inst):
        self.op, self.layout, self.fn, self.kinds, self.diff_ins, self.diff_outs = (inst.op, inst.layout, inst.fn, inst.kinds,
                                                                                    inst.diff_ins,
                                                                                   inst.diff_outs)
        self.in_metas = [meta_of(tuple([n or 2 for n in m.shape]), m.dtype, m.device) for m in inst.in_metas]
        avals = [jax.ShapeDtypeStruct(m.shape, m.dtype) for m in self.in_metas] + [NUMBER[k] for k in self.kinds]
        self.jaxpr, self.traced = jaxpr_of(self.fn, *avals), True
        self.out_metas = [meta_of(a.shape, a.dtype, inst.out_metas[0].device) for a in self.jaxpr.out_avals]


def _as_of_some(inst, wrt, rule, kept):
    """What an Instance without elements keeps: (operands, results, numbers) that its operator does where there are some, whether it reads
    them or not, and the equations that it runs. What it needs itself stays where its arguments allow no others, or others would need
    less."""
    try:
        some = _Some(inst)
        others = Pullback(some, wrt, rule, some.op.saves).cheapest(some)[:3]
    except (TypeError, ValueError, IndexError, AssertionError):         # JAX asserts that shapes fit
        return kept
    return (*others, kept[3]) if all([set(mine) <= set(theirs) for mine, theirs in zip(kept, others)]) else kept


def _cost(inst, kept):
    args, outs = kept[:2]
    elements = sum([inst.in_metas[i].numel for i in args]) + sum([inst.out_metas[k].numel for k in outs])
    return elements, len(args) + len(outs)


def _pullback(inst, wrt, rule):
    n = len(inst.in_metas) + len(inst.kinds)
    forward = core().jaxpr_as_fun(inst.jaxpr) if inst.traced else inst.fn

    def backward(*args):
        ins, cts = args[:n], args[n:]
        if rule is not None:
            return rule(inst, wrt, ins, cts)

        def f(*diff):
            full = list(ins)
            for i, d in zip(wrt, diff):
                full[i] = d
            r = forward(*full)
            return [r[o] for o in inst.diff_outs], list(r)
        primal, pull, everything = jax.vjp(f, *[ins[i] for i in wrt], has_aux=True)
        # torch's complex gradient is the conjugate of JAX's
        grads = pull([conj(c).astype(p.dtype) for c, p in zip(cts, primal)])
        return everything + [conj(g) for g in grads]
    return backward


def conj(x):
    return jnp.conj(x) if jnp.issubdtype(x.dtype, jnp.complexfloating) else x


def grad_strides(meta, plain=False):
    """A gradient keeps its input's layout when that is dense and the operator's kernel is not `plain`, else it is contiguous."""
    return None if plain or meta.contiguous or not meta.dense else meta.strides


_CALLS = ("jit", "pjit")


def influences(inst):
    """For each operand of an Instance the results that depend on it."""
    key = inst.op, inst.layout, tuple([(m.ndim, m.dtype) for m in inst.in_metas])
    found = _influences.get(key)
    if found is None:
        avals = [jax.ShapeDtypeStruct(m.shape, m.held) for m in inst.in_metas] + [NUMBER[k] for k in inst.kinds]
        jaxpr = inlined(jaxpr_of(inst.fn, *avals)).jaxpr
        sources = {v: {k} for k, v in enumerate(jaxpr.invars)}
        for eqn in jaxpr.eqns:
            read = set().union(*[sources.get(v, ()) for v in eqn.invars if not isinstance(v, core().Literal)])
            sources.update(dict.fromkeys(eqn.outvars, read))
        made = [set() if isinstance(v, core().Literal) else sources.get(v, set()) for v in jaxpr.outvars]
        found = _influences.keep(key, tuple([frozenset([o for o, s in enumerate(made) if i in s]) for i in range(len(inst.in_metas))]))
    return found


def inlined(closed):
    """The jaxpr without inner calls: a call's results all need all of its arguments, which would save too much."""
    if not any(eqn.primitive.name in _CALLS for eqn in closed.jaxpr.eqns):
        return closed

    def evaluate(closed, args):
        env = dict(zip(closed.jaxpr.constvars, closed.consts))
        env.update(zip(closed.jaxpr.invars, args))
        read = lambda v: v.val if isinstance(v, core().Literal) else env[v]
        for eqn in closed.jaxpr.eqns:
            if eqn.primitive.name in _CALLS:
                env.update(zip(eqn.outvars, evaluate(eqn.params["jaxpr"], [read(v) for v in eqn.invars])))
            else:
                bind_eqns((eqn,), env, read)
        return [read(v) for v in closed.jaxpr.outvars]
    return jaxpr_of(lambda *args: evaluate(closed, args), *closed.in_avals)


def rounded_once(closed):
    """The jaxpr without conversions that it makes a second time: a result of a half type is recognised where the gradient reads it, though
    the result and what a rule sees of it are each rounded from the same wider numbers."""
    made, same, eqns = {}, {}, []
    known = lambda v: v if isinstance(v, core().Literal) else same.get(v, v)
    for eqn in closed.jaxpr.eqns:
        if any([known(v) is not v for v in eqn.invars]):
            eqn = eqn.replace(invars=[known(v) for v in eqn.invars])
        if eqn.primitive.name == "convert_element_type" and not isinstance(eqn.invars[0], core().Literal):
            (x,), (y,) = eqn.invars, eqn.outvars
            first = made.setdefault((x, y.aval), y)
            if first is not y:
                same[y] = first
                continue
        eqns.append(eqn)
    if not same:
        return closed
    jaxpr = closed.jaxpr
    made = core().Jaxpr(jaxpr.constvars, jaxpr.invars, [known(v) for v in jaxpr.outvars], eqns, debug_info=jaxpr.debug_info)
    return core().ClosedJaxpr(made, closed.consts)


def needed(jaxpr, outvars, given):
    """Equations that `outvars` depend on when the variables in `given` are known, and the free variables."""
    want = {v for v in outvars if not isinstance(v, core().Literal)}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        hit = [v for v in eqn.outvars if v in want and v not in given]
        if hit:
            eqns.append(eqn)
            want.difference_update(hit)
            want.update(v for v in eqn.invars if not isinstance(v, core().Literal))
    return eqns[::-1], want
