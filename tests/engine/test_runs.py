"""Extremes of a number and a large array, which NumPy takes in runs: the same as of two arrays, the second of equals."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine.interpret import build


@pytest.mark.parametrize("size", [8192, 10000, 20011])
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
