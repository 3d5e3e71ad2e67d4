"""What XLA's CPU backend gets wrong or does slowly, said differently in the programs that it compiles.

The interpreter sees the primitives as they are: NumPy has loops of its own for them.
"""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..errorfunction import LIMIT, P, Q, polynomial

# Calls that run their jaxpr once: what they add (names, gradients) no longer counts when a program is compiled.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
_LEFT_ALONE = "peak"   # see ops.common
_FEW = 2048            # elements of a reduction that XLA surely does not vectorise (it does from 4096 on)


def applied(closed_jaxpr, arguments):
    """The results of a jaxpr for tracers, on a CPU."""
    jaxpr, env = closed_jaxpr.jaxpr, {}

    def read(atom):
        return atom.val if hasattr(atom, "val") else env[atom]
    env.update(zip(jaxpr.constvars, closed_jaxpr.consts))
    env.update(zip(jaxpr.invars, arguments))
    for eqn in jaxpr.eqns:
        name, operands = eqn.primitive.name, [read(v) for v in eqn.invars]
        if name in _CALLS and eqn.params.get("name") != _LEFT_ALONE and hasattr(eqn.params.get(_CALLS[name]), "consts"):
            out = applied(eqn.params[_CALLS[name]], operands)
        elif name in _PAIRS and jnp.issubdtype(operands[0].dtype, jnp.floating):
            out = [_greater(_PAIRS[name], *operands)]
        elif name in _EXTREMES:
            out = [_extreme(eqn, operands[0])]
        elif name == "erf" and operands[0].dtype == np.float32:
            out = [_erf(operands[0])]
        elif name == "top_k" and operands[0].dtype == np.uint32:
            out = _top_k(eqn, operands[0])
        else:
            out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            out = out if eqn.primitive.multiple_results else [out]
        env.update(zip(eqn.outvars, out))
    return [read(v) for v in jaxpr.outvars]


_PAIRS = {"max": lax.gt, "min": lax.lt}


def _greater(wins, a, b):
    """The greater or smaller of each pair; the second of equals, as with NumPy."""
    return jnp.where(wins(a, b) | (a != a), a, b)


_EXTREMES = {"reduce_max": (lax.ge, -np.inf), "reduce_min": (lax.le, np.inf)}


def _extreme(eqn, x):
    """The greatest or smallest elements, NaN where there is one: XLA's vectorised loop loses NaNs."""
    if not jnp.issubdtype(x.dtype, jnp.floating) or x.size <= _FEW:
        return eqn.primitive.bind(x, **eqn.primitive.get_bind_params(eqn.params))
    wins, start = _EXTREMES[eqn.primitive.name]
    for axis in sorted(eqn.params["axes"], reverse=True):      # several at once take three times as long
        x = lax.reduce(x, np.asarray(start, x.dtype), lambda a, b: lax.select(wins(a, b) | lax.ne(a, a), a, b), (axis,))
    return x


def _erf(x):
    t = x * x
    y = jnp.clip(x * polynomial(t, P) / polynomial(t, Q), -1, 1)
    return jnp.where(jnp.abs(x) > LIMIT, jnp.sign(x), y)


_PASSES = 16           # up to so many passes over everything are cheaper than sorting it


def _top_k(eqn, x):
    """The k largest along the last dimension and their places, the earlier one of equals: by numbers of 64 bits that hold both, which
    are compared several times faster than pairs."""
    k = eqn.params["k"]
    codes = (2 ** 31 - 1 - x.astype(np.int64)) << 32 | lax.broadcasted_iota(np.int64, x.shape, x.ndim - 1)
    if 0 < k <= _PASSES:
        least = [jnp.min(codes, -1, keepdims=True)]
        for _ in range(k - 1):
            least.append(jnp.min(jnp.where(codes > least[-1], codes, np.iinfo(np.int64).max), -1, keepdims=True))
        first = jnp.concatenate(least, -1)
    else:
        first = lax.slice_in_dim(lax.sort(codes, is_stable=False), 0, k, axis=-1)
    return [(2 ** 31 - 1 - (first >> 32)).astype(np.uint32), (first & 0xFFFFFFFF).astype(eqn.outvars[1].aval.dtype)]
