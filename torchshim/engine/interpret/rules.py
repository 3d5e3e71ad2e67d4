"""NumPy rules for jaxpr primitives: the registry.

A rule turns one equation's static parameters into a Python function of arrays, once, when a
program is built: `make(params, ins, outs) -> function | None`. `ins` and `outs` are `Spec`s
(shape and dtype). None means "no rule for this case": the interpreter then falls back to XLA.

The functions return exactly the dtype and shape that the jaxpr promises and follow XLA where
NumPy differs: integers wrap, `x / 0` is -1 and `x % 0` is x, float to integer conversions
saturate, 16-bit and 8-bit floats are computed in float32 and rounded once per primitive.
Subnormal numbers are kept, as PyTorch keeps them; XLA's CPU code flushes some of them to zero.

Functions may return NumPy scalars for 0-d results; the interpreter makes them arrays.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, NamedTuple

import numpy as np
from jax import dtypes as jax_dtypes
import jax.numpy as jnp

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


class Spec(NamedTuple):
    """Shape and dtype of one operand or result."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)


Make = Callable[[dict, "list[Spec]", "list[Spec]"], "Callable[..., Any] | None"]

RULES: dict[str, Make] = {}
CALLS: dict[str, Make] = {}     # of functions by name, see ops.loops.kernel; their results are a list
ANY_SHAPE: set[Make] = set()      # of these, those that make functions of arrays of any shape
# Primitives that work element by element. NumPy broadcasts their operands, so an operand that
# was only broadcast needs no memory of its own; without a rule, XLA runs them on flat arrays
# padded to a few sizes, so that a new shape is not a new compile.
ELEMENTWISE: set[str] = set()


def rule(*names: str) -> Callable[[Make], Make]:
    """Register `make` for the primitives called `names`."""

    def register(make: Make) -> Make:
        for name in names:
            RULES[name] = make
        return make

    return register


def known_call(make: Make, name: str | None = None, any_shape: bool = False) -> Make:
    """Register `make` for calls of the function of this name, by default its own. any_shape: what it makes asks for the number of elements
    alone."""
    CALLS[name or make.__name__] = make
    if any_shape:
        ANY_SHAPE.add(make)
    return make


def elementwise(*names: str) -> Callable[[Make], Make]:
    """Register `make` for elementwise primitives."""
    ELEMENTWISE.update(names)
    return rule(*names)


@functools.lru_cache(maxsize=None)
def category(dtype: np.dtype) -> str:
    """bool, int, uint, float, complex, low (floats narrower than float32) or other."""
    if not isinstance(dtype, np.dtype):
        return "other"
    if dtype.kind in "iu" and dtype.num < 256 and dtype.isnative:          # asked like this, a dtype from a pickle is built in, too
        return "int" if dtype.kind == "i" else "uint"
    if dtype == np.bool_:
        return "bool"
    if dtype in (np.float32, np.float64):
        return "float"
    if dtype in (np.complex64, np.complex128):
        return "complex"
    if dtype == jax_dtypes.float0:
        return "other"
    if jnp.issubdtype(dtype, np.floating):
        return "low"
    return "other"


def plain(*specs: Spec) -> bool:
    """Whether NumPy knows all these dtypes as whole bytes."""
    return all(category(s.dtype) != "other" for s in specs)
