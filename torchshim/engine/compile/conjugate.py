"""Conjugates of a pullback, where torch takes them.

torch's complex gradient is the conjugate of JAX's, so a pullback conjugates its cotangents and its gradients. That gives torch's numbers,
but not its signs of zeros: conj(conj(g) * x) has -0 where g * conj(x) has +0. Here the conjugate of a gradient moves towards the cotangents
it is made of, through all that is linear in them, until the two meet and only what they are multiplied with is conjugated, as in torch's
formulas.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .instance import bind_eqns, core, jaxpr_of

#: primitives whose result of conjugates is the conjugate of their result
_COMMUTE = frozenset("""add add_any sub mul div neg reduce_sum cumsum dot_general broadcast_in_dim reshape transpose squeeze expand_dims
    slice dynamic_slice dynamic_update_slice split concatenate pad gather scatter scatter-add select_n rev copy copy_p convert_element_type
    conv_general_dilated select_and_gather_add""".split())
#: those that only move or choose numbers
_MOVES = frozenset("broadcast_in_dim reshape transpose squeeze expand_dims convert_element_type select_n copy".split())


def pushed(closed, first, cotangents):
    """The jaxpr with the conjugates of its results from number `first` on moved inwards; `cotangents` is how many last inputs are those."""
    jaxpr, Literal = closed.jaxpr, core().Literal
    linear = set(jaxpr.invars[len(jaxpr.invars) - cotangents:])
    made = {}
    for eqn in jaxpr.eqns:
        for v in eqn.outvars:
            made[v] = eqn
        if any([not isinstance(v, Literal) and v in linear for v in eqn.invars]):
            linear.update(eqn.outvars)

    def real(v):
        """Whether a complex variable is made of real ones alone."""
        if isinstance(v, Literal):
            return not np.imag(v.val)
        eqn = made.get(v)
        if eqn is None or eqn.primitive.name not in _MOVES:
            return False
        return all([real(u) for u in eqn.invars if _complex(u.aval.dtype)])

    def zero(v):
        while not isinstance(v, Literal) and v in made and made[v].primitive.name == "broadcast_in_dim":
            v = made[v].invars[0]
        return isinstance(v, Literal) and v.val == 0

    def conjugated(v):
        return not isinstance(v, Literal) and v in made and made[v].primitive.name == "conj"

    def evaluate(*args):
        env, turned = dict(zip(jaxpr.constvars, closed.consts)), {}
        env.update(zip(jaxpr.invars, args))
        read = lambda v: v.val if isinstance(v, Literal) else env[v]
        bind_eqns(jaxpr.eqns, env, read)

        def conjugate(v):
            if not _complex(v.aval.dtype):
                return read(v)
            if isinstance(v, Literal):
                return np.conj(v.val) if np.imag(v.val) else v.val
            if v not in turned:
                turned[v] = _turned(v)
            return turned[v]

        def _turned(v):
            eqn = made.get(v)
            if eqn and v not in linear and not (eqn.primitive.name in ("mul", "div") and conjugated(eqn.invars[0])):
                eqn = None
            name = eqn.primitive.name if eqn else None
            if name == "conj" and _complex(eqn.invars[0].aval.dtype):
                return read(eqn.invars[0])
            if name == "complex":
                a, b = eqn.invars
                return read(v) if zero(b) else jax.lax.complex(read(a), 0 - read(b))
            if name in _COMMUTE:
                parts = {}
                bind_eqns((eqn,), parts, conjugate)
                turned.update(parts)
                return parts[v]
            if name is None:
                return read(v) if real(v) else jax.lax.conj(read(v))
            return jax.lax.complex(jax.lax.real(read(v)), 0 - jax.lax.imag(read(v)))

        def gradient(v):
            eqn = None if isinstance(v, Literal) else made.get(v)
            return read(v) if eqn is None or eqn.primitive.name != "conj" else conjugate(eqn.invars[0])
        return [read(v) for v in jaxpr.outvars[:first]] + [gradient(v) for v in jaxpr.outvars[first:]]
    return jaxpr_of(evaluate, *closed.in_avals)


def _complex(dtype):
    return jnp.issubdtype(dtype, jnp.complexfloating)
