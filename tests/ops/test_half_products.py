"""Products of half numbers to which something is added: torch rounds once, where its kernel adds, and twice where it adds later."""
import numpy as np
import pytest

import torchshim as torch

F = torch.nn.functional
# 1 + 2**-8 is a tie in bfloat16, which goes to 1; with 2**-9 it is above the tie
ROW, ONES, LITTLE = [1.0, 2.0 ** -8], [1.0, 1.0], 2.0 ** -9
ONCE, TWICE = 1.0078125, 1.0


def half(data):
    return torch.tensor(data, dtype=torch.bfloat16)


@pytest.mark.parametrize("tier", ["auto", "compiled"])
@pytest.mark.parametrize("made", [
    lambda: F.linear(half([ROW]), half([ONES]), half([LITTLE])),
    lambda: F.linear(half([[ROW, ROW]]), half([ONES]), half([LITTLE])),
    lambda: F.linear(half(ROW), half([ONES]), half([LITTLE])),
    lambda: F.linear(half([ROW]), half([ONES]), half(LITTLE)),
    lambda: torch.addmm(half([[LITTLE]]), half([ROW]), half([ONES]).t()),
    lambda: torch.addmv(half([LITTLE] * 2), half([ROW, ROW]), half(ONES)),
    lambda: torch.baddbmm(half([[[LITTLE]]]), half([[ROW]]), half([ONES]).t()[None]),
    lambda: torch.addbmm(half([[LITTLE]]), half([[ROW]]), half([ONES]).t()[None]),
])
def test_a_kernel_that_adds_rounds_once(tier, made, monkeypatch):
    from torchshim.engine.compile import policy
    monkeypatch.setattr(policy, "tier", tier)
    assert made().float().flatten()[0].item() == ONCE


@pytest.mark.parametrize("made", [
    lambda: F.linear(half([[ROW, ROW], [ROW, ROW]]).transpose(0, 1), half([ONES]), half([LITTLE])),
    lambda: F.linear(half(ROW), half([ONES]), half(LITTLE)),
    lambda: F.linear(half([[ROW]]), half([ONES]), half(LITTLE)),
    lambda: F.linear(half([[ROW, ROW]]), half([ONES, ONES]), half([LITTLE, 0, LITTLE])[::2]),
    lambda: torch.addmv(half([LITTLE] * 2), half([[1.0, 1.0], [2.0 ** -8, 2.0 ** -8]]).t(), half(ONES)),
])
def test_what_is_added_later_is_rounded_apart(made):
    assert made().float().flatten()[0].item() == TWICE


def test_gradients_are_half_and_scaled_after_the_product():
    """As torch's formulas have it: the product is rounded, then what alpha makes of it."""
    rng = np.random.RandomState(0)
    self, a, b = [torch.from_numpy(rng.randn(*s).astype("float32")).bfloat16().requires_grad_() for s in ((3, 5), (3, 4), (4, 5))]
    out = torch.addmm(self, a, b, beta=0.3, alpha=1.7)
    ct = torch.from_numpy(rng.randn(3, 5).astype("float32")).bfloat16()
    grads = torch.autograd.grad(out, (self, a, b), ct)
    assert [g.dtype for g in grads] == [torch.bfloat16] * 3
    for g, want in zip(grads, (ct * 0.3, (ct @ b.t()) * 1.7, (a.t() @ ct) * 1.7)):
        assert g.tolist() == want.tolist()


def test_scales_of_a_matrix_by_a_vector_are_half_numbers():
    self, mat, vec = half([3.0]), half([[1.0, 1.0]]), half([1.0, 2.0])
    alpha, beta = 0.3, 0.7
    a, b = float(half(alpha)), float(half(beta))
    assert torch.addmv(self, mat, vec, beta=beta, alpha=alpha).item() == float(half(float(half(b * 3.0)) + a * 3.0))
