"""Protects lerp as one function: it is the body's step by step, in bits where that is no nan, and rounds once by a single weight."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.interpret import interpolated

ODD = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, np.nextafter(np.float32(0.5), 0), 1.0, 1e-42, 3e38])


def values(size, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(size).astype(dtype)
    x[::3] = rng.choice(ODD, x[::3].size)
    return x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_by_tensors_it_is_the_body(dtype):
    x, y, w = [values(70001, dtype, seed) for seed in range(3)]
    near = np.abs(w) < 0.5
    expected = np.where(near, w, w - dtype(1)) * (y - x) + np.where(near, x, y)
    made, = interpolated.lerp((70001,), np.dtype(dtype), False)(x, y, w)
    assert np.array_equal(made, expected, equal_nan=True) and (np.signbit(made) == np.signbit(expected))[made == made].all()
    assert interpolated.lerp((1000,), np.dtype(np.float32), False) is None and interpolated.lerp((0,), np.dtype(dtype), True) is None


@pytest.mark.parametrize("weight", (0.25, 0.5, -2.0, 1.0))
@pytest.mark.parametrize("size", (3, 5000))
def test_by_one_weight_it_rounds_once(size, weight):
    x, y = torch.arange(size) / 7, torch.arange(size) / 3 + 0.1
    a, b = x.numpy(), y.numpy()
    w, base = (np.float32(weight), a) if abs(weight) < 0.5 else (np.float32(weight - 1), b)
    expected = (np.float64(w) * (b - a) + base).astype(np.float32)
    for given in (weight, torch.tensor(weight)):
        assert torch.lerp(x, y, given).numpy().tolist() == expected.tolist()
