"""Primitives that decide how a program is built: broadcasts that need no memory, branches, loops, and what is known beforehand."""
from __future__ import annotations

import functools
import math
from typing import Callable

import numpy as np

from . import array_rules
from ..compile.sizes import is_open
from .copies import reshaped
from .fallback import jitted
from .rules import Spec, plain
from .values import Value, opened, spec_of, to_numpy

# Loops are interpreted up to about this many primitives; then compiling costs less.
_LOOP_LIMIT = 20_000


def _broadcast_in_dim(builder, eqn, ins, outs):
    value, shape = ins[0], outs[0].shape
    if len(ins) != 1 or not plain(value.spec):
        return None
    slot, source = builder.broadcastable(value)
    unit, dims = [1] * len(shape), tuple(eqn.params["broadcast_dimensions"])
    dims = dims[len(dims) - len(source):]      # what is small may lack leading dimensions of size 1
    for dim, n in zip(dims, source):
        unit[dim] = n
    unit = tuple(unit)
    if math.prod(unit) == 1 and math.prod(source) == 1 and unit != shape and source != ():
        unit = ()  # one element broadcasts from any rank; 0-d arrays are the cheapest
    if source == () and unit != shape:
        unit = ()
    if source and len(source) < len(shape) and dims == tuple(range(len(shape) - len(source), len(shape))):
        return [Value(outs[0], small=slot, small_shape=source, const=value.const)]    # NumPy puts dimensions in front by itself
    if unit != source:
        slot = builder.emit(builder.made(reshaper, unit), [slot], Spec(unit, value.spec.dtype))
    if unit == shape:
        return [Value(outs[0], slot=slot)]
    const, number = (value.const, value.number) if unit == source else (None, None)
    return [Value(outs[0], small=slot, small_shape=unit, const=const, number=number)]


def reshaper(shape) -> Callable:
    return lambda x: reshaped(x, shape)


def _iota(builder, eqn, ins, outs):
    if ins or not plain(outs[0]):
        return None
    shape, dimension = outs[0].shape, eqn.params["dimension"]
    if is_open(shape[dimension]):
        small = tuple(n if d == dimension else 1 for d, n in enumerate(shape))
        slot = builder.emit(builder.made(_counts, shape, outs[0].dtype, dimension), [], Spec(small, outs[0].dtype))
        return [Value(outs[0], slot=slot) if small == shape else Value(outs[0], small=slot, small_shape=small)]
    counts = array_rules.iota(shape, outs[0].dtype, dimension)
    slot = builder.new_slot(counts)
    if counts.shape == outs[0].shape:
        return [Value(outs[0], slot=slot)]
    return [Value(outs[0], small=slot, small_shape=counts.shape)]


def _counts(shape, dtype, dimension) -> Callable:
    counts = array_rules.iota(shape, dtype, dimension)
    return lambda: counts


def _dim_as_value(builder, eqn, ins, outs):
    """A symbolic size in arithmetic."""
    return [Value(outs[0], slot=builder.emit(builder.made(_number, eqn.params["dim"], outs[0].dtype), [], outs[0]))]


def _number(n, dtype) -> Callable:
    array = np.asarray(n, dtype)
    return lambda: array


def _device_put(builder, eqn, ins, outs):
    return ins if all(d is None for d in eqn.params.get("devices", (0,))) else None


def _linear_solve(builder, eqn, ins, outs):
    lengths = eqn.params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    rest = ins[start + lengths.solve + lengths.transpose_solve :]
    return builder.inline(eqn.params["jaxprs"].solve, [*ins[start : start + lengths.solve], *rest])


def _cond(builder, eqn, ins, outs):
    last = len(eqn.params["branches"]) - 1
    if ins[0].const is not None:
        return builder.inline(eqn.params["branches"][min(max(int(ins[0].const), 0), last)], ins[1:])
    branches = [functools.cache(functools.partial(builder.program_of, b)) for b in eqn.params["branches"]]

    def cond(index, *args):
        run, _ = branches[min(max(int(index), 0), last)]()
        return run(*args)

    slots = [builder.any_form(v) for v in ins]
    return builder.emit_many(cond, slots, outs, raw=True, effects=bool(eqn.effects))


def _while(builder, eqn, ins, outs):
    if not plain(*outs):
        return None
    test, test_steps = builder.program_of(eqn.params["cond_jaxpr"])
    body, body_steps = builder.program_of(eqn.params["body_jaxpr"])
    n_test, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]

    def advance(running, consts, carry):
        new = body(*consts, *carry)
        if running.ndim == 0:
            return new
        # Many loops at once, from vmap: those that have ended keep their values.
        return [
            np.where(running.reshape(running.shape + (1,) * (a.ndim - running.ndim)), a, b)
            for a, b in zip(map(to_numpy, new), map(to_numpy, carry))
        ]

    budget = _LOOP_LIMIT // (test_steps + body_steps + 1)
    compiled = jitted(eqn.primitive, eqn.params)

    def loop(*args):
        consts = args[: n_test + n_body]
        test_consts, body_consts = consts[:n_test], consts[n_test:]
        carry = args[n_test + n_body :]
        for _ in range(budget):
            running = to_numpy(test(*test_consts, *carry)[0])
            if not running.any():
                return carry
            carry = advance(running, body_consts, carry)
        return compiled(*consts, *carry)  # a long loop: compile the rest of it

    slots = [builder.any_form(v) for v in ins]
    return builder.emit_many(loop, slots, outs, raw=True, effects=bool(eqn.effects))


def _scan(builder, eqn, ins, outs):
    body_jaxpr, length, reverse = eqn.params["jaxpr"], eqn.params["length"], eqn.params["reverse"]
    inner = opened(body_jaxpr)
    inner_ins, inner_outs = [spec_of(v.aval) for v in inner.invars], [spec_of(v.aval) for v in inner.outvars]
    if not plain(*outs, *(v.spec for v in ins)):
        return None
    # Scanned operands have one dimension more than the body's; constants and carries have not.
    n_xs = sum(len(v.spec.shape) != len(s.shape) for v, s in zip(ins, inner_ins))
    n_carry = sum(len(o.shape) == len(s.shape) for o, s in zip(outs, inner_outs))
    n_consts = len(ins) - n_xs - n_carry
    body, steps = builder.program_of(body_jaxpr)
    if length * (steps + 1) > _LOOP_LIMIT:
        return None
    order = range(length - 1, -1, -1) if reverse else range(length)
    stacks = outs[n_carry:]

    def loop(*args):
        consts, carry, xs = args[:n_consts], args[n_consts : n_consts + n_carry], args[n_consts + n_carry :]
        ys = [np.empty(s.shape, s.dtype) for s in stacks]
        for i in order:
            results = body(*consts, *carry, *[x[i, ...] for x in xs])
            carry = results[:n_carry]
            for y, row in zip(ys, results[n_carry:]):
                y[i] = row
        return [*carry, *ys]

    slots = [builder.any_form(v) for v in ins[: n_consts + n_carry]]
    slots += [builder.array(v) for v in ins[n_consts + n_carry :]]
    return builder.emit_many(loop, slots, outs, raw=True, effects=bool(eqn.effects))


def _platform_index(builder, eqn, ins, outs):
    """Which branch is this platform's."""
    index = [k for k, platforms in enumerate(eqn.params["platforms"]) if platforms is None or "cpu" in platforms]
    return [builder.constant(index[0], outs[0])] if index else None


def _empty(builder, eqn, ins, outs):
    """Memory that holds nothing yet."""
    if ins or not plain(outs[0]):
        return None
    zero = np.zeros((), outs[0].dtype)
    return [Value(outs[0], small=builder.new_slot(zero), small_shape=(), const=zero)]


# Those that keep programs of their own.
INNER = {"custom_linear_solve", "linear_solve", "cond", "while", "scan"}

STRUCTURAL: dict[str, Callable] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "iota": _iota,
    "device_put": _device_put,
    "dim_as_value": _dim_as_value,
    "custom_linear_solve": _linear_solve,
    "linear_solve": _linear_solve,
    "cond": _cond,
    "platform_index": _platform_index,
    "empty": _empty,
    "empty2": _empty,
    "while": _while,
    "scan": _scan,
}
