"""Scans in NumPy: what accumulates blocks side by side gives the digits of one after the other; and gradients get arrays of JAX where a
program made them, with which in-place sums are no longer NumPy's."""
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine.interpret import scan_rules
from torchshim.engine.interpret.rules import RULES, Spec


@pytest.mark.parametrize("make, wanted", [(scan_rules.logsumexp_back, [3, 2, 1]), (scan_rules.product_back, [3, 2, 1])])
@pytest.mark.parametrize("at", range(3))
def test_arrays_of_a_program(make, wanted, at):
    args = [np.ones(3, np.float32) for _ in range(3)]
    args[at] = jnp.ones(3, jnp.float32)
    made, = make((3,), 0, np.dtype("float32"), None)(*args)
    assert isinstance(made, np.ndarray) and np.allclose(made, wanted)


NAMES = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
SHAPES = [((70001,), 0), ((320, 100), 1), ((320, 100), 0), ((100, 3, 90), 0), ((3, 1003, 17), 1), ((20, 1100), 0), ((9000, 3), 0)]


def scanned(name, x, axis, reverse=False):
    spec = Spec(x.shape, x.dtype)
    with np.errstate(all="ignore"):
        return RULES[name]({"axis": axis, "reverse": reverse}, [spec], [spec])(x)


def one_after_the_other(name, x, axis):
    """As torch does it: float32 sums and products in float64."""
    wide = x.astype(np.float64) if x.dtype == np.float32 and name in ("cumsum", "cumprod") else x
    with np.errstate(all="ignore"):
        return NAMES[name].accumulate(wide, axis).astype(x.dtype)


@pytest.mark.parametrize("shape, axis", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_give_the_same_digits(name, dtype, shape, axis):
    x = np.random.default_rng(0).standard_normal(shape)
    x = (np.exp(x / 4) if name == "cumprod" else x * 100).astype(dtype)
    assert np.array_equal(scanned(name, x, axis), one_after_the_other(name, x, axis))
    assert np.array_equal(np.flip(scanned(name, np.flip(x, axis), axis, True), axis), one_after_the_other(name, x, axis))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 0.0])
@pytest.mark.parametrize("name", NAMES)
def test_odd_numbers_begin_where_they_are(name, odd):
    for at in (0, 3, 8, 20011, 70000):
        x = np.random.default_rng(0).random(70001, np.float32) + np.float32(0.5)
        x[at] = odd
        x[max(at, 60000):60001] = -np.inf
        assert np.array_equal(scanned(name, x, 0), one_after_the_other(name, x, 0), equal_nan=True)


@pytest.mark.parametrize("runs", [[(1e30, 10), (1e-30, 100)], [(1e-35, 9), (1e35, 9), (1e-38, 8), (1e38, 7)]])
def test_products_that_come_back_into_range(runs):
    x = np.ones(1 << 15, np.float32)
    at = 64
    for value, count in runs:
        x[at:at + count] = value
        at += count
    assert np.array_equal(scanned("cumprod", x, 0), one_after_the_other("cumprod", x, 0))


@pytest.mark.parametrize("shape, axis", [((320, 100), 1), ((320, 100), 0), ((7,), 0), ((3, 4, 5), 1), ((3, 3000), 1)])
@pytest.mark.parametrize("ufunc, ahead", [(np.maximum, np.greater_equal), (np.minimum, np.less_equal)])
def test_places_of_extremes_so_far(ufunc, ahead, shape, axis):
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal(shape).astype(np.float32) * 2)
    x[rng.random(shape) < 0.3] *= -1           # zeros of both signs
    x[rng.random(shape) < 0.01] = np.nan
    values, places = scan_rules.extremes_so_far(ufunc, shape, axis, x.dtype)(x)
    rows, best, at = np.moveaxis(x, axis, 0), np.empty_like(np.moveaxis(x, axis, 0)), np.empty(np.moveaxis(x, axis, 0).shape, np.int64)
    best[0], at[0] = rows[0], 0
    for k in range(1, len(rows)):
        moves = np.isnan(rows[k]) | ahead(rows[k], best[k - 1])
        best[k], at[k] = np.where(moves, rows[k], best[k - 1]), np.where(moves, k, at[k - 1])
    assert np.array_equal(places, np.moveaxis(at, 0, axis)) and values.tobytes() == np.moveaxis(best, 0, axis).tobytes()
