"""Operators as single equations of a jaxpr: a function that is traced anew at each call, as vmap's are, costs its operators then, not what
these consist of.

A `Routine` is what an operator computes; batched, it is another Routine, which the first one keeps. The interpreter keeps with it the
function that it made of it (`run`).
"""
from __future__ import annotations

import functools

import jax

from ..record.trie import counters
from .gradient import inlined
from .instance import core

#: Batch sizes (and which operands have them) that a Routine remembers.
_KEPT = 64


class Routine:
    """A closed jaxpr as the parameter of an equation; equal to itself alone."""
    __slots__ = ("closed", "run", "_flat", "_batched", "__weakref__")

    def __init__(self, closed):
        self.closed, self.run, self._flat, self._batched = closed, None, None, {}

    @property
    def flat(self):
        """The jaxpr without inner calls."""
        if self._flat is None:
            self._flat = inlined(self.closed)
        return self._flat

    def __call__(self, *args):
        return core().jaxpr_as_fun(self.closed)(*args)

    def batched(self, dims, n):
        """The Routine over `n` examples, in dimension dims[k] of each operand (None: it is the same for all); results have them first."""
        found = self._batched.get((dims, n))
        if found is None:
            counters["traces"] += 1
            avals = [jax.ShapeDtypeStruct(a.shape if d is None else (*a.shape[:d], n, *a.shape[d:]), a.dtype)
                     for a, d in zip(self.closed.in_avals, dims)]
            if len(self._batched) >= _KEPT:
                self._batched.clear()
            with jax.enable_x64(True):
                found = Routine(jax.make_jaxpr(jax.vmap(core().jaxpr_as_fun(self.closed), in_axes=dims, axis_size=n))(*avals))
            self._batched[dims, n] = found
        return found


@functools.cache
def primitive():
    """The primitive of such equations: it is computed, compiled, batched and differentiated as the jaxpr of its Routine is."""
    from jax.interpreters import ad, batching, mlir
    p = core().Primitive("operator")
    p.multiple_results = True
    compute = lambda *args, routine: routine(*args)
    p.def_impl(compute)
    p.def_abstract_eval(lambda *avals, routine: routine.closed.out_avals)
    mlir.register_lowering(p, mlir.lower_fun(compute, multiple_results=True))

    def batch(args, dims, *, routine):
        n = next(a.shape[d] for a, d in zip(args, dims) if d is not None)
        outs = p.bind(*args, routine=routine.batched(tuple(dims), n))
        return outs, [0] * len(outs)

    def push(primals, tangents, *, routine):
        return jax.jvp(core().jaxpr_as_fun(routine.closed), primals, tuple([ad.instantiate_zeros(t) for t in tangents]))
    batching.primitive_batchers[p] = batch
    ad.primitive_jvps[p] = push
    return p
