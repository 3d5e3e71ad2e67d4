"""Small things that many operator bodies need."""
from __future__ import annotations

import importlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from . import promotion as P
from .loops import kernel, looped


@looped
@partial(jax.jit, static_argnums=1)
def peak(x, axes):
    """The maximum along axes, which are kept, to be subtracted before `exp`. It may miss a NaN, which shows in what it is subtracted from,
    and costs a third of one that does not: `engine.compile.lowering` leaves a jitted function of this name alone."""
    return jnp.max(x, axes, keepdims=True, initial=-jnp.inf)


def hypotenuse(x, y):
    """sqrt(x ** 2 + y ** 2) without overflow, rounded once as torch's is."""
    if x.dtype == np.float64:
        return hypotenuse_of_doubles(x, y)
    if x.dtype != np.float32:
        return jnp.hypot(x, y)
    found = jnp.sqrt(jnp.square(x.astype(np.float64)) + jnp.square(y.astype(np.float64))).astype(np.float32)
    return jnp.where(jnp.isinf(x) | jnp.isinf(y), np.float32(np.inf), found)


@kernel
def hypotenuse_of_doubles(x, y):
    """The same of doubles: the error of the plain formula is computed, and taken off."""
    a, b = jnp.maximum(jnp.abs(x), jnp.abs(y)), jnp.minimum(jnp.abs(x), jnp.abs(y))
    scale = jnp.where(a > 2.0 ** 500, 2.0 ** -600, jnp.where(a < 2.0 ** -400, 2.0 ** 600, 1.0))
    a, b = a * scale, b * scale
    root = jnp.sqrt(a * a + b * b)
    (p, p_low), (q, q_low), (r, r_low) = _squared(a), _squared(b), _squared(root)
    rest = ((p - r) + q) + ((p_low + q_low) - r_low)
    found = (root + rest / jnp.where(root == 0, 1.0, 2 * root)) / scale
    return jnp.where(jnp.isinf(x) | jnp.isinf(y), np.inf, found)


def _squared(x):
    """x * x, and by how much that is rounded (T. J. Dekker, 1971)."""
    wide = x * (2.0 ** 27 + 1)
    high = wide - (wide - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


@jax.custom_jvp
def length(z):
    """|z| of complex numbers. Its slope is torch's: their direction, and 0 at 0."""
    return hypotenuse(jnp.real(z), jnp.imag(z))


@length.defjvp
def _length_jvp(primals, tangents):
    out = length(*primals)
    return out, jnp.real(tangents[0] * jnp.conj(direction(*primals, out)))


def direction(z, size):
    """z / |z|, and 0 at 0. `size`: |z|, by which each part is divided."""
    by = jnp.where(size == 0, 1, size)
    return jnp.where(size == 0, jnp.zeros((), z.dtype), jax.lax.complex(jnp.real(z) / by, jnp.imag(z) / by))


class Later:
    """The functions of a module that is imported when one of them is called for the first time."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return lambda *args: getattr(importlib.import_module(self._module), name)(*args)


special = Later("jax.scipy.special")           # it takes as long to import as twenty of our own modules


def taken(x, index, d, unique=False):
    """x's elements at the positions `index` along dimension d: `take_along_axis` for positions known to be inside, without broadcasting.
    unique: that no element is taken twice."""
    if x.shape[d] == 0:
        return jnp.zeros(index.shape, x.dtype)         # there are no positions
    one, others = (d,), tuple([k for k in range(x.ndim) if k != d])
    numbers = jax.lax.GatherDimensionNumbers((), one, one, others, others)
    sizes = [0 if n == 0 else 1 for n in x.shape]
    return jax.lax.gather(x, index[..., None], numbers, sizes, mode="clip", unique_indices=unique)


def wrap_dim(d, ndim, of=None):
    """A non-negative dimension, or torch's IndexError. A 0-d array has the dimensions -1 and 0. `of`: a tensor that is asked for its
    history before it is refused."""
    n = max(ndim, 1)
    if not -n <= d < n:
        if of is not None:
            of.grad_fn
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


def size_at(m, d):
    """The size of something at a dimension, or torch's IndexError."""
    if not -m.ndim <= d < m.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-m.ndim}, {m.ndim - 1}], but got {d})" if m.ndim else
                         f"Dimension specified as {d} but tensor has no dimensions")
    return m.shape[d]


def at_once(error):
    """A refusal that torch knows before it asks the operands for their histories, though the operator is not `composed`."""
    error.at_once = True
    return error


def wrap_dims(dims, ndim):
    """A sorted-by-call tuple of dimensions; all of them for None or ()."""
    if dims is None or dims == ():
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if ndim > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")
    out = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(out)) != len(out):
        twice = next(d for d in out if out.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return tuple(d for d in out if d < ndim)


def as_number(n, dtype):
    """A size as a 0-d array: a body that serves all shapes at once is given symbols for sizes."""
    return np.asarray(n, dtype) if isinstance(n, (int, float)) else jnp.asarray(n).astype(dtype)


def real_alone(inst, needs):
    """grad_for of an operator whose gradients torch has for real results only."""
    if P.kind_of(inst.out_metas[0].dtype) == 3 and not inst.op.name.endswith("_"):
        name = "_" * inst.op.name.endswith("softmax") + inst.op.name                   # of a softmax it names what that calls
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")


def half_of(d):
    """The dtype `d` where it is a half float, else None."""
    return None if P.compute_dtype(d) == d or P.kind_of(d) == 3 else d


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def is_complex(x):
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


def wide(x):
    """Half types in float32, as torch's kernels accumulate."""
    d = P.compute_dtype(x.dtype)
    return x if d == x.dtype else x.astype(d)


def product(x, y):
    """x * y rounded on its own, where bits matter: XLA's CPU compiler fuses a float32 product with a sum that follows."""
    if x.dtype != jnp.float32:
        return x * y
    return (x.astype(jnp.float64) * y.astype(jnp.float64)).astype(jnp.float32)



def _rounded_once(name):
    """x * y + z of arrays of one shape, or 0-d ones, by a call of this name: rounded once where such calls have a rule, on CPUs."""
    def of_arrays(x, y, z):
        return x * y + z
    of_arrays.__name__ = of_arrays.__qualname__ = name
    call = looped(jax.jit(of_arrays))
    batchable = custom_vmap(call)

    @batchable.def_vmap
    def of_batch(axis_size, in_batched, *args):
        shape = jnp.broadcast_shapes(*[a.shape[1:] if b else a.shape for a, b in zip(args, in_batched)])
        args = [jnp.broadcast_to(a.reshape(a.shape[:1] + (1,) * (len(shape) + 1 - a.ndim) + a.shape[1:]), (axis_size, *shape)) if b
                else jnp.broadcast_to(a, (axis_size, *shape)) if a.ndim else a for a, b in zip(args, in_batched)]
        return call(*args), True

    @jax.custom_jvp
    def once(x, y, z):
        return looped(batchable)(x, y, z)

    @partial(once.defjvp, symbolic_zeros=True)
    def jvp(primals, tangents):
        (x, y, z), (dx, dy, dz) = primals, tangents
        terms = [f(t) for f, t in ((lambda t: t, dz), (lambda t: x * t, dy), (lambda t: t * y, dx)) if not isinstance(t, SymbolicZero)]
        out = once(x, y, z)
        total = terms[0] if terms else jnp.zeros_like(out)
        for term in terms[1:]:
            total = total + term
        return out, jnp.broadcast_to(total, out.shape)
    return once


_of_any, _of_memory = _rounded_once("multiply_add"), _rounded_once("multiply_add_of_memory")


def plus_product(z, x, y, in_memory=False):
    """z + x * y rounded once, as torch's kernels for CPUs do with float32 and float64; other dtypes as they are. x may be a number.
    in_memory: z and y are memory, not smaller arrays spread out: then XLA needs no float64 for it, with which it would copy what it is to
    write in place."""
    if x in (1, -1) if x.__class__ is int else not (x.dtype == y.dtype == z.dtype and x.dtype in (np.float32, np.float64)):
        return z + x * y
    shape = jnp.broadcast_shapes(x.shape, y.shape, z.shape)
    once = _of_memory if in_memory else _of_any
    return once(*[a if a.shape in ((), shape) else jnp.broadcast_to(a, shape) for a in (x, y, z)])
