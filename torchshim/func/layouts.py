"""How what vmap computes lies in memory: torch batches an elementwise operator by applying it to the whole tensor where that lies."""
from __future__ import annotations

from ..engine import contiguous_strides, meta_of
from ..engine.compile.gradient import inlined
from ..engine.interpret.rules import ELEMENTWISE
from ..ops.layout import elementwise_strides


def layouts(closed, metas):
    """The strides of each result of a program, where it is elementwise in operands with these metas and has some; else None.

    A transpose moves the batch, or is the user's: torch does both by views. What else the program does gives contiguous results."""
    return [strides if depends else None for strides, depends in _found(inlined(closed).jaxpr, [(m.strides, True) for m in metas])]


def _found(jaxpr, operands):
    """(strides or None, whether it depends on an operand) of each result of a jaxpr, where the same is known of its operands."""
    found = dict(zip(jaxpr.invars, operands))
    known = lambda v: (None, False) if hasattr(v, "val") else found.get(v, (None, False))
    for eqn in jaxpr.eqns:
        given = [(v.aval, *known(v)) for v in eqn.invars]
        depends, strides = any([d for _, _, d in given]), None
        name, shape = eqn.primitive.name, eqn.outvars[0].aval.shape
        inner = eqn.params["routine"].flat if name == "operator" else eqn.params["call_jaxpr"] if name == "custom_jvp_call" else None
        if inner is not None:
            found.update(zip(eqn.outvars, _found(inner.jaxpr, [(s, d) for _, s, d in given])))
            continue
        if name == "transpose" and given[0][1] is not None:
            strides = tuple([given[0][1][d] for d in eqn.params["permutation"]])
        elif depends and name in ELEMENTWISE or name == "copy":
            whole = [(a, s or contiguous_strides(a.shape)) for a, s, d in given if a.shape == shape]
            if all([s is not None for a, s, d in given if d and a.shape == shape]) and whole:
                strides = elementwise_strides([meta_of(shape, a.dtype, "meta", s) for a, s in whole], shape) or contiguous_strides(shape)
        for v in eqn.outvars:
            found[v] = strides, depends
    return [known(v) for v in jaxpr.outvars]
