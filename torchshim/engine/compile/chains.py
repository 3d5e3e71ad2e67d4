"""Where the chains of elementwise operations in a program are cut.

XLA's CPU backend computes inside of each kernel what it reads, from the last result on that has a place in memory. Of a value that several
read each computes the whole chain again (but for what XLA counts as expensive, as tanh; not sin): a chain of hundreds whose
intermediate results a backward reads is compiled for minutes, and runs thirty times as long as one kernel after the other.
"""
from __future__ import annotations

import collections

import jax
from jax.experimental.xla_metadata import set_xla_metadata

DEEP = 8                   # primitives in a row from which on what is read several times gets its place in memory
LONG = 128                 # from which on everything does: compiling a kernel takes the square of its length
# Those whose kernels, or calls, are their own; of these the ones that a kernel of what they read can end in; what moves nothing.
_CALLED = ("dot_general", "conv_general", "scatter", "select_and", "sort", "top_k", "while", "scan", "cond", "fft", "triangular", "cholesky",
           "lu", "qr", "geqrf", "householder", "eig", "svd", "schur", "custom_linear", "ffi", "random", "threefry")
_ENDS = ("reduce_", "arg", "cum")
_VIEWS = frozenset(("reshape", "squeeze", "expand_dims", "transpose"))
_same = jax.jit(lambda x: x)


def apart(x):
    """`x`, which XLA computes once: it goes through a call that is not inlined."""
    with set_xla_metadata(inlineable="false"):
        return _same(x)


def cuts(body, results):
    """The places, among what the steps of a Piece's body make, of the values that `apart` is for; `results` are those that it returns."""
    readers, kernels, depth, inside, same, steps = collections.Counter(), set(), {}, {}, {}, []
    for inst, operands, _, made in body:
        jaxpr = inst.jaxpr.jaxpr
        if inst not in inside:
            inside[inst] = _in_kernels(jaxpr), [jaxpr.invars.index(v) if v in jaxpr.invars else None for v in jaxpr.outvars]
        there, given = inside[inst]
        operands = [same.get(s, s) for s in operands]
        same.update([(s, operands[k]) for s, k in zip(made, given) if k is not None and k < len(operands)])
        if all([s in same for s in made]):
            continue                           # it passes on what it gets
        steps.append((jaxpr, operands, made))
        readers.update(operands)
        kernels.update([s for s, is_in in zip(operands, there) if is_in])
    readers.update([same.get(s, s) for s in results])
    found = set()
    for jaxpr, operands, made in steps:
        given = [depth.get(s, 0) for s in operands] + [0] * (len(jaxpr.invars) - len(operands))
        for s, deep in zip(made, _depths(jaxpr, given)):
            if s in kernels and deep >= (DEEP if readers[s] > 1 else LONG):
                found.add(s)
            else:
                depth[s] = deep
    return found


def _depths(jaxpr, given):
    """How many primitives in a row a kernel computes that reads each result, where those of the operands are `given`."""
    known = dict(zip(jaxpr.invars, given))
    def of(v):
        return 0 if hasattr(v, "val") else known.get(v, 0)
    for eqn in jaxpr.eqns:
        inner, before = inner_jaxprs(eqn.params), [of(v) for v in eqn.invars]
        if eqn.primitive.name.startswith(_CALLED + _ENDS):
            deep = [0] * len(eqn.outvars)
        elif len(inner) == 1 and len(inner[0].invars) == len(before):
            deep = _depths(inner[0], before)
        else:
            deep = [1 + max(before, default=0)] * len(eqn.outvars)
        known.update(zip(eqn.outvars, deep))
    return [of(v) for v in jaxpr.outvars]


def _in_kernels(jaxpr):
    """For each operand whether a kernel reads it, rather than a call."""
    inside = {v: False for v in jaxpr.invars}
    for eqn in jaxpr.eqns:
        name, inner = eqn.primitive.name, inner_jaxprs(eqn.params)
        if name.startswith(_CALLED) or name in _VIEWS:
            continue
        reads = _in_kernels(inner[0]) if len(inner) == 1 and len(inner[0].invars) == len(eqn.invars) else [True] * len(eqn.invars)
        inside.update({v: True for v, there in zip(eqn.invars, reads) if there and not hasattr(v, "val") and v in inside})
    return [inside[v] for v in jaxpr.invars]


def inner_jaxprs(params):
    """The jaxprs among an equation's parameters."""
    found = [p for value in params.values() for p in (value if isinstance(value, (tuple, list)) else (value,))]
    return [getattr(p, "jaxpr", p) for p in found if hasattr(getattr(p, "jaxpr", p), "eqns")]
