"""Helpers: run a function in the NumPy interpreter and with XLA, and compare."""

import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from torchshim.engine import interpret

FLOATS = [np.float32, np.float64]
LOWS = [np.float16, ml_dtypes.bfloat16]
EIGHTS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
COMPLEX = [np.complex64, np.complex128]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTS = SIGNED + UNSIGNED
# Compile the references quickly, and round narrow floats after every operation.
REFERENCE = {"xla_backend_optimization_level": 0, "xla_allow_excess_precision": False}
SHAPES = [(), (3, 4), (0, 3)]


def name_of(dtype):
    return np.dtype(dtype).name


def every(dtypes):
    return pytest.mark.parametrize("dtype", dtypes, ids=name_of)


def values(rng, dtype, shape=(3, 4), *, low=-3.0, high=3.0):
    """Ordinary values of a dtype."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) > 0.5
    if dtype.kind in "iu":
        return rng.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def jaxpr_of(f, *args):
    with jax.enable_x64(True):
        return jax.make_jaxpr(f)(*args)


def assert_same(got, want, ulps=8, atol=0.0):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    if got.dtype.kind == "c":
        half = np.dtype(f"f{got.dtype.itemsize // 2}")
        scale = np.abs(want[np.isfinite(want)]).max(initial=0)  # complex arithmetic is accurate as a whole
        atol = max(atol, ulps * np.finfo(half).eps * scale)
        assert_same(got.real, want.real, ulps, atol)
        assert_same(got.imag, want.imag, ulps, atol)
        return
    info = jnp.finfo(got.dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        # XLA flushes subnormal numbers.
        close = np.abs(a - b) <= ulps * eps * np.abs(b) + tiny + atol
    ok = close | (a == b) | (np.isnan(a) & np.isnan(b))
    assert ok.all(), f"{got[~ok]} != {want[~ok]}"


def check(f, *args, ulps=8, atol=0.0):
    """Interpret `f` and compare with XLA. Returns the results."""
    with jax.enable_x64(True):
        wants = jax.tree.leaves(jax.jit(f, compiler_options=REFERENCE)(*args))
    closed = jaxpr_of(f, *args)
    before = [np.array(a) for a in args]
    gots = interpret.build(closed, check=True)(*args)
    assert len(gots) == len(wants)
    for aval, got, want in zip(closed.out_avals, gots, wants):
        assert isinstance(got, (np.ndarray, jax.Array))
        assert got.shape == aval.shape and got.dtype == aval.dtype
        assert_same(got, want, ulps, atol)
    for a, b in zip(args, before):
        assert_same(a, b, ulps=0)
    return gots


def check_flat(f, *lists, **tolerance):
    """`check` for a function of lists of arrays."""
    sizes = [len(x) for x in lists]

    def flat(*args):
        rest = iter(args)
        return f(*[list(itertools.islice(rest, n)) for n in sizes])

    return check(flat, *itertools.chain(*lists), **tolerance)
