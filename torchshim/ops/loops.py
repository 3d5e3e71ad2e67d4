"""JAX's loops, and functions with loops in them, as operators' bodies call them.

Bodies are traced with `jax.jit` switched off (see `engine.compile.instance.jaxpr_of`), and there JAX would run a loop in Python, turn by turn.
"""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp


def looped(function):
    """`function`, traced with `jax.jit` switched on."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        with jax.disable_jit(False):
            return function(*args, **kwargs)
    return call


scan, while_loop, fori_loop = looped(jax.lax.scan), looped(jax.lax.while_loop), looped(jax.lax.fori_loop)
searchsorted = looped(jnp.searchsorted)
