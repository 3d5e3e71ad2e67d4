"""JAX's loops, and functions with loops in them, as operators' bodies call them; functions that the interpreter knows by name.

Bodies are traced with `jax.jit` switched off (see `engine.compile.instance.jaxpr_of`), and there JAX would run a loop in Python, turn by
turn.
"""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap


def looped(function):
    """`function`, traced with `jax.jit` switched on."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        with jax.disable_jit(False):
            return function(*args, **kwargs)
    return call


scan, while_loop, fori_loop = looped(jax.lax.scan), looped(jax.lax.while_loop), looped(jax.lax.fori_loop)


def kernel(function):
    """`function` as one call in what is traced, for which `engine.interpret` has a rule of that name; compiled it is what it does itself.

    Its operands may have any dimensions before those it works on, so that a batch goes there; its results are arrays with all of them."""
    jitted = looped(jax.jit(function))
    call = custom_vmap(jitted)

    @call.def_vmap
    def _batched(axis_size, in_batched, *args):
        args = [a if b or not a.ndim else jnp.broadcast_to(a, (axis_size, *a.shape)) for a, b in zip(args, in_batched)]
        out = jitted(*args)
        return out, jax.tree.map(lambda _: True, out)
    return functools.wraps(function)(lambda *args: looped(call)(*args))


def _insertions(sequence, values, right):
    """By halving, a step to the right wherever a comparison does not lead to the left: so a nan does not, on either side."""
    if sequence.ndim > 1:                      # a batch
        return jax.vmap(lambda a, v: _insertions(a, v, right))(sequence, values)
    common = jnp.promote_types(sequence.dtype, values.dtype)
    sequence, values = sequence.astype(common), values.astype(common)

    def halve(state):
        low, high = state
        middle = low + (high - low) // 2
        found = sequence.at[middle].get(mode="clip")
        left = found > values if right else found >= values
        going = low < high
        return jnp.where(going & ~left, middle + 1, low), jnp.where(going & left, middle, high)
    start = jnp.zeros(values.shape, jnp.int64)
    return while_loop(lambda state: (state[0] < state[1]).any(), halve, (start, start + sequence.shape[0]))[0]


@kernel
def insertions_left(sequence, values):
    """Where in a sorted sequence each value goes, before its equals."""
    return _insertions(sequence, values, False)


@kernel
def insertions_right(sequence, values):
    """Where in a sorted sequence each value goes, after its equals."""
    return _insertions(sequence, values, True)


def searchsorted(sequence, values, side="left"):
    """Where in a sorted sequence each value goes."""
    return (insertions_right if side == "right" else insertions_left)(sequence, values)
