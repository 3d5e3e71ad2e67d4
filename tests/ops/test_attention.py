"""Attention on the host: what NumPy computes by blocks is what the traced program says."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine.compile import policy


@pytest.mark.parametrize("mask", [None, "bool", "float", "causal"])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_dropout_on_the_weights(monkeypatch, mask, scale):
    """Training a transformer drops some of the weights: forward and backward, by blocks and as traced."""
    found = []
    for tier in ("operators", "compiled"):
        monkeypatch.setattr(policy, "tier", tier)
        torch.manual_seed(0)
        q, k, v = [torch.randn(2, 3, n, 8, dtype=torch.float64, requires_grad=True) for n in (7, 9, 9)]
        given = {None: None, "causal": None, "bool": torch.rand(7, 9) > 0.3, "float": torch.randn(7, 9, dtype=torch.float64)}[mask]
        out = F.scaled_dot_product_attention(q, k, v, given, 0.2, mask == "causal", scale=scale)
        found.append([out, *torch.autograd.grad(out, (q, k, v), torch.randn_like(out))])
        [t.tolist() for t in found[-1]]
    for one, other in zip(*found):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
