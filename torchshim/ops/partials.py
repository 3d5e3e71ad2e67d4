"""Derivatives of elementwise bodies from partial derivatives; see `registry` for what these may be."""
from __future__ import annotations

import functools
import inspect

import jax
import jax.numpy as jnp

from . import promotion as P
from .casts import cast, short


def with_partials(body, partials, params, saved=None):
    """`body` whose tangent is the sum of the operands' tangents times these partial derivatives. The result that they see is rounded
    to `saved`, a half type, as what torch saves of it; those that take `half=` are given that type, to round their steps to."""
    tensorlike = [p.kind != "static" for p in params]
    half = None if saved is P.complex32 else saved
    stepwise = ["half" in inspect.signature(p).parameters if p else False for p in partials]
    partials = [functools.partial(p, half=half) if stepped else p for p, stepped in zip(partials, stepwise)]

    def core(*args):
        """Apply the rule on the array arguments only; the others are closed over."""
        at = [i for i, a in enumerate(args) if tensorlike[i] and isinstance(a, jax.Array)]

        def full(arrays):
            every = list(args)
            for i, a in zip(at, arrays):
                every[i] = a
            return every
        f = jax.custom_jvp(lambda *arrays: body(*full(arrays)))

        @f.defjvp
        def tangent(primals, tangents):
            every, out = full(primals), f(*primals)
            seen = out if saved is None else cast(out, saved).astype(out.dtype)
            total = jnp.zeros_like(out)
            for i, t in zip(at, tangents):
                if i < len(partials) and partials[i] is not None and jnp.issubdtype(t.dtype, jnp.inexact):
                    total = total + term(t, partials[i](seen, *every), half if stepwise[i] else None)
            return out, total
        return f(*[args[i] for i in at])
    return core


class Over:
    """A partial derivative 1 / divisor: the gradient is divided, which rounds once."""

    def __init__(self, divisor):
        self.divisor = divisor


def term(t, partial, half=None):
    """A tangent times a partial derivative; see `registry` for masks. A list: by one factor after the other, the last one
    first in the gradient, rounded to `half` between them."""
    if partial.__class__ is Over:
        return t / partial.divisor
    if partial.__class__ is list:
        for k, factor in enumerate(partial):
            t = short(t, half if k else None)
            t = t / factor.divisor if factor.__class__ is Over else t * factor
        return t
    mask, factor = partial if partial.__class__ is tuple else (partial, None) if partial.dtype == jnp.bool_ else (None, partial)
    if mask is not None:                       # first here, so last in the transposed program: it has the last word there
        t = jnp.where(mask, t, jnp.zeros_like(t))
    return t if factor is None else t / factor.divisor if factor.__class__ is Over else t * factor
