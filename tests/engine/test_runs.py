"""Extremes of a number and a large array, which NumPy takes in runs: the same as of two arrays, the second of equals."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine.interpret import build


@pytest.mark.parametrize("size", [8192, 32768, 40011])
@pytest.mark.parametrize("number", [0.0, -0.0, 0.5, np.nan, np.inf])
def test_a_number_and_an_array(size, number):
    x = np.random.RandomState(0).randn(size).astype(np.float32)
    x[::7], x[1::7], x[2::11] = 0, -0.0, np.nan
    c = np.float32(number)
    whole = np.full(size, c, np.float32)
    for f in (jnp.maximum, jnp.minimum):
        for g in (lambda x, c: f(c, x), lambda x, c: f(x, c)):
            made = build(jax.make_jaxpr(g)(x, c))(x, np.asarray(c))[0]
            wanted = build(jax.make_jaxpr(g)(x, whole))(x, whole)[0]
            np.testing.assert_array_equal(made, wanted)
            np.testing.assert_array_equal(np.signbit(made), np.signbit(wanted))


@pytest.mark.parametrize("size", [100, 1500, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, np.bool_, np.complex64])
def test_a_number_or_an_array_by_a_mask(size, dtype):
    """A choice by bits: what is not taken leaves no trace, be it NaN, and zeros keep their signs."""
    rng = np.random.RandomState(0)
    which, x = rng.rand(size) > 0.5, (rng.randn(size) * 3).astype(dtype)
    if x.dtype.kind in "fc":
        x[::7], x[1::7], x[2::11] = 0, np.inf, np.nan
    for number in (0.0, -0.0, 1.0):
        c = np.asarray(number, dtype)
        for taken, other in ((x, c), (c, x)):
            with jax.enable_x64(True):
                made = build(jax.make_jaxpr(jnp.where)(which, taken, other))(which, taken, other)[0]
            wanted = np.where(which, taken, other)
            assert made.dtype == wanted.dtype and made.tobytes() == wanted.tobytes()
