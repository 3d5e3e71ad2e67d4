"""Functions of few float32 numbers are rounded once, as nearly all of torch's are (exp2, tan and the inverse tangent less often)."""
import numpy as np
import pytest

import torchshim as torch


@pytest.mark.parametrize("name, where", [("sin", ()), ("cos", ()), ("sinh", ()), ("cosh", ()), ("expm1", ()), ("log1p", "+"), ("log2", "+"),
                                         ("log10", "+"), ("exp2", ()), ("tanh", ()), ("exp", ())])
def test_rounded_once(name, where, monkeypatch):
    from torchshim.engine.compile import policy
    monkeypatch.setattr(policy, "tier", "operators")
    x = np.random.RandomState(0).randn(200).astype(np.float32)
    x = np.abs(x) + np.float32(0.01) if where else x
    expected = getattr(np, name)(x.astype(np.float64)).astype(np.float32)
    assert (getattr(torch, name)(torch.from_numpy(x)).numpy() == expected).all()
