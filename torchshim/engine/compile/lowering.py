"""What XLA's CPU backend gets wrong or does slowly, said differently in the programs that it compiles.

The interpreter sees the primitives as they are: NumPy has loops of its own for them.
"""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata

from . import convolution
from ..errorfunction import LIMIT, P, Q, polynomial

# Calls that run their jaxpr once: what they add (names, gradients) no longer counts when a program is compiled.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
          "custom_vmap_call": "call"}
_LEFT_ALONE, _ONCE_ROUNDED, _IN_MEMORY = "peak", "multiply_add", "multiply_add_of_memory"      # see ops.common
_FEW = 2048            # elements of a reduction that XLA surely does not vectorise (it does from 4096 on)


# What may end in a product. LLVM contracts one with a sum that it sees after it, in whichever operator, to a single rounding.
_PRODUCTS = frozenset("""mul square integer_pow pow exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asinh acosh atanh
                         logistic cbrt rsqrt erf erfc erf_inv lgamma digamma reduce_prod""".split())
_BITS = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}


class Fence:
    """Hides from LLVM how a number was made, so that what follows sees a rounded one: its bits XOR a zero of which the compiler does not
    know that it is one. `zero` is a 0-d int64 tracer, argument of the program that is traced."""

    def __init__(self, zero):
        self.zero, self.made = zero, {}

    def __call__(self, x):
        bits = _BITS.get(x.dtype)
        if bits is None:
            return x
        zero = self.made.get((bits, x.shape))
        if zero is None:
            zero = self.made[bits, x.shape] = lax.broadcast(lax.convert_element_type(self.zero, bits), x.shape)
        return lax.bitcast_convert_type(lax.bitcast_convert_type(x, bits) ^ zero, x.dtype)

    def times(self, x, y):
        return self(x * y)


def fence_of(zero):
    """A Fence where programs have the argument `zero_for` gives, else None."""
    return None if zero is None else Fence(zero)


def zero_for(device):
    """The argument of a program that its Fence needs; None for devices without fences."""
    if device.platform != "cpu":
        return None
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        return jax.device_put(np.zeros((), np.int64), device)


class Application:
    """A jaxpr applied to tracers, some equations at a time; `env` has what is known of its variables. Without a fence as JAX does it."""
    __slots__ = ("env", "fence")

    def __init__(self, closed_jaxpr, arguments, fence):
        jaxpr = closed_jaxpr.jaxpr
        self.env, self.fence = dict(zip(jaxpr.constvars, closed_jaxpr.consts)), fence
        self.env.update(zip(jaxpr.invars, arguments))

    def read(self, atom):
        return atom.val if hasattr(atom, "val") else self.env[atom]

    def run(self, eqns):
        read, fence = self.read, self.fence
        for eqn in eqns:
            name, operands = eqn.primitive.name, [read(v) for v in eqn.invars]
            rule = _RULES.get(name) if fence else None
            out = rule(eqn, operands, fence) if rule else None
            if out is None:
                out = _bound(eqn, *operands)
                if fence and name in _PRODUCTS:
                    out = [fence(x) for x in out]
            self.env.update(zip(eqn.outvars, out))


def applied(closed_jaxpr, arguments, fence):
    """The results of a jaxpr for tracers, on a CPU."""
    application = Application(closed_jaxpr, arguments, fence)
    application.run(closed_jaxpr.jaxpr.eqns)
    return list(map(application.read, closed_jaxpr.jaxpr.outvars))


def _bound(eqn, *operands):
    """What the equation's primitive gives, as a list."""
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return out if eqn.primitive.multiple_results else [out]


_RULES = {}                # primitive's name: (eqn, operands, fence) -> results, or None where it is right as it is


def _rule(*names):
    return lambda f: _RULES.update(dict.fromkeys(names, f)) or f


@_rule(*_CALLS)
def _call(eqn, operands, fence):
    inner = eqn.params.get(_CALLS[eqn.primitive.name])
    if eqn.params.get("name") in (_ONCE_ROUNDED, _IN_MEMORY) and eqn.primitive.name != "custom_jvp_call":
        x, y, z = operands
        if x.dtype == np.float32 and eqn.params["name"] == _ONCE_ROUNDED:              # the product of two is exact in float64
            return [(x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)).astype(np.float32)]
        return [x * y + z]                     # without a fence LLVM makes one instruction of both
    if eqn.params.get("name") != _LEFT_ALONE and hasattr(inner, "consts"):
        return applied(inner, operands, fence)


@_rule("scan")
def _scan(eqn, operands, fence):
    params, inner = eqn.params, eqn.params["jaxpr"]
    # what comes and goes row by row has a dimension more outside; releases of JAX differ in what else they tell
    carried = sum([v.aval.ndim == a.ndim for v, a in zip(eqn.outvars, inner.out_avals)])
    first = sum([v.aval.ndim == a.ndim for v, a in zip(eqn.invars, inner.in_avals)])
    consts, start, rows = operands[:first - carried], operands[first - carried:first], operands[first:]

    def body(carry, row):
        out = applied(inner, [*consts, *carry, *row], Fence(fence.zero))
        return out[:carried], out[carried:]
    carry, made = lax.scan(body, start, rows, params["length"], params["reverse"], params["unroll"])
    return carry + made


@_rule("while")
def _while(eqn, operands, fence):
    params = eqn.params
    n, m = params["cond_nconsts"], params["body_nconsts"]
    tested, consts = operands[:n], operands[n:n + m]
    return lax.while_loop(lambda carry: applied(params["cond_jaxpr"], [*tested, *carry], Fence(fence.zero))[0],
                          lambda carry: applied(params["body_jaxpr"], [*consts, *carry], Fence(fence.zero)), operands[n + m:])


@_rule("cond")
def _cond(eqn, operands, fence):
    branches = [functools.partial(lambda branch, *args: applied(branch, args, Fence(fence.zero)), branch)
                for branch in eqn.params["branches"]]
    return lax.switch(operands[0], branches, *operands[1:])


@_rule("mul")
def _complex_product(eqn, operands, fence):
    if jnp.issubdtype(eqn.outvars[0].aval.dtype, jnp.complexfloating):
        (a, b), (c, d) = [(lax.real(x), lax.imag(x)) for x in operands]
        return [lax.complex(fence(a * c) - fence(b * d), fence(a * d) + fence(b * c))]


@_rule("dot_general")
def _outer_product(eqn, operands, fence):
    if not eqn.params["dimension_numbers"][0][0]:
        return [fence(x) for x in _bound(eqn, *operands)]


_WIDE = 4096           # elements from which what a write into a part avoids costs more than a call inside of a program, half a microsecond


@_rule("dynamic_update_slice")
def _write(eqn, operands, fence):
    """A write into a part, as a call of its own. XLA would repeat it in each kernel that reads a slice of what was written, which keeps the
    array from before alive, so that it is copied; and it would compute what is written inside of the write, number by number."""
    if operands[0].size >= _WIDE:
        with set_xla_metadata(inlineable="false"):
            return [_written(*[None if isinstance(x, jax.core.Tracer) else int(x) for x in operands[2:]])(*operands)]


@functools.lru_cache(maxsize=512)
def _written(*at):
    """The function (array, part, place) that puts the part there; where the place is known it is `at`."""
    return jax.jit(lambda x, part, *place: lax.dynamic_update_slice(x, part, [p if n is None else np.int64(n) for n, p in zip(at, place)]))


@_rule("conv_general_dilated")
def _convolution(eqn, operands, fence):
    made = convolution.lowered(eqn, *operands, fence)
    return None if made is None else [made]


@_rule("cumsum", "cumprod", "cumlogsumexp")
def _cumulative(eqn, operands, fence):
    """Running sums, products and sums of exponentials as torch's: in float64. XLA makes them from those of pieces, which may overflow where
    the whole does not; then they are made one by one."""
    (x,), axis, reverse = operands, eqn.params["axis"], eqn.params["reverse"]
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return None
    made, = _bound(eqn, x.astype(np.float64))
    if eqn.primitive.name == "cumprod" and x.shape[axis] > 1:
        def one_by_one(x, made):
            rows = jnp.moveaxis(x.astype(np.float64), axis, 0)
            products = lax.scan(lambda total, row: (total * row,) * 2, jnp.ones_like(rows[0]), rows, reverse=reverse)[1]
            return jnp.moveaxis(products, 0, axis)
        made = lax.cond(jnp.isfinite(made).all(), lambda x, made: made, one_by_one, x, made)
    return [fence(made.astype(x.dtype))]


@_rule("reduce_prod")
def _product(eqn, operands, fence):
    if operands[0].dtype == np.float32:                        # products of pieces would overflow where the whole does not
        return [fence(_bound(eqn, operands[0].astype(np.float64))[0].astype(np.float32))]


@_rule("atan2")
def _angle(eqn, operands, fence):
    """XLA's constant folding makes NaN of atan2(0, 0) where both operands are the same constant."""
    y, x = operands
    return [lax.atan2(fence(y), x)] if np.dtype(y.dtype) in _BITS else None


_PAIRS = {"max": lax.gt, "min": lax.lt}


@_rule(*_PAIRS)
def _greater(eqn, operands, fence):
    """The greater or smaller of each pair; the second of equals, as with NumPy."""
    a, b = operands
    if jnp.issubdtype(a.dtype, jnp.floating):
        return [jnp.where(_PAIRS[eqn.primitive.name](a, b) | (a != a), a, b)]


_EXTREMES = {"reduce_max": (lax.ge, -np.inf), "reduce_min": (lax.le, np.inf)}


@_rule(*_EXTREMES)
def _extreme(eqn, operands, fence):
    """The greatest or smallest elements, NaN where there is one: XLA's vectorised loop loses NaNs."""
    x, = operands
    if not jnp.issubdtype(x.dtype, jnp.floating) or x.size <= _FEW:
        return None
    wins, start = _EXTREMES[eqn.primitive.name]
    for axis in sorted(eqn.params["axes"], reverse=True):      # several at once take three times as long
        x = lax.reduce(x, np.asarray(start, x.dtype), lambda a, b: lax.select(wins(a, b) | lax.ne(a, a), a, b), (axis,))
    return [x]


@_rule("erf")
def _erf(eqn, operands, fence):
    x, = operands
    if x.dtype == np.float32:
        t = fence(x * x)
        y = jnp.clip(fence(x * polynomial(t, P, fence.times)) / polynomial(t, Q, fence.times), -1, 1)
        return [jnp.where(jnp.abs(x) > LIMIT, jnp.sign(x), y)]


_PASSES = 16           # up to so many passes over everything are cheaper than sorting it


@_rule("top_k")
def _top_k(eqn, operands, fence):
    """The k largest along the last dimension and their places, the earlier one of equals: by numbers of 64 bits that hold both, which
    are compared several times faster than pairs."""
    (x,), k = operands, eqn.params["k"]
    if x.dtype != np.uint32:
        return None
    codes = (2 ** 31 - 1 - x.astype(np.int64)) << 32 | lax.broadcasted_iota(np.int64, x.shape, x.ndim - 1)
    if 0 < k <= _PASSES:
        least = [jnp.min(codes, -1, keepdims=True)]
        for _ in range(k - 1):
            least.append(jnp.min(jnp.where(codes > least[-1], codes, np.iinfo(np.int64).max), -1, keepdims=True))
        first = jnp.concatenate(least, -1)
    else:
        first = lax.slice_in_dim(lax.sort(codes, is_stable=False), 0, k, axis=-1)
    return [(2 ** 31 - 1 - (first >> 32)).astype(np.uint32), (first & 0xFFFFFFFF).astype(eqn.outvars[1].aval.dtype)]
