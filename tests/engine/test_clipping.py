"""Protects numbers cut to an interval in one go: it is what the larger and the smaller give one after the other, to the sign of zeros."""
import numpy as np
import pytest

import torchshim as torch

BOUNDS = [(-1.0, 1.0), (0.0, 1.0), (-0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0), (2.0, 1.0), (float("nan"), 1.0), (0.5, float("nan")),
          (-float("inf"), float("inf")), (-1, 1.5)]


@pytest.mark.parametrize("low, high", BOUNDS)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_clamp_is_the_larger_and_then_the_smaller(low, high, dtype):
    x = torch.tensor([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf"), -float("inf")] * 30, dtype=dtype)
    a = x.numpy().copy()
    low_, high_ = a.dtype.type(low), a.dtype.type(high)
    larger = np.where((a < low_) | np.isnan(low_) & ~np.isnan(a), low_, a)         # x, where they are equal
    want = np.where((larger > high_) | np.isnan(high_) & ~np.isnan(larger), high_, larger)
    for y in (x.clamp(low, high), x.reshape(10, -1).clamp(low, high).reshape(-1), x.clone().clamp_(low, high)):
        got = y.numpy()
        assert np.array_equal(got, want, equal_nan=True) and (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()
