"""Protects erf in float32 in both tiers: within a few units in the last place of the truth, and right where it ends."""
import math

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import errorfunction
from torchshim.engine.compile import policy


@pytest.mark.parametrize("tier", ["operators", "compiled"])
def test_erf_is_near_the_truth_everywhere(tier, monkeypatch):
    monkeypatch.setattr(policy, "tier", tier)
    x = np.concatenate([np.linspace(-4.5, 4.5, 40001), np.geomspace(1e-30, 1, 2000)]).astype(np.float32)
    truth = np.array([math.erf(v) for v in x.tolist()])
    error = np.abs(torch.from_numpy(x).erf().numpy() - truth) / np.spacing(np.abs(truth).astype(np.float32))
    assert error.max() <= 6 and error.mean() <= 1


def test_the_ends_of_erf_on_the_host():
    ends = np.array([5, np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -3e38] * 200, np.float32)       # more than one by one
    with np.errstate(all="ignore"):
        found = errorfunction.on_host(ends)[:8]
    assert np.array_equal(found, np.array([1, 1, -1, np.nan, 0, 0, 1, -1], np.float32), equal_nan=True)
    assert np.signbit(found[5]) and not np.signbit(found[4])


def test_a_block_more_than_one(monkeypatch):
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    whole = errorfunction.on_host(x)
    monkeypatch.setattr(errorfunction, "_BLOCK", 100)
    assert np.array_equal(errorfunction.on_host(x), whole)
