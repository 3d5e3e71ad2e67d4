"""Protects pruning: masks, several in turn, over several parameters at once, and their removal; batch norms folded into layers."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils import prune


def test_masks_add_up_and_can_be_made_permanent():
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", 0.5)
    assert m.weight_mask.sum() == 6 and m.weight_orig.abs()[m.weight_mask == 0].max() <= m.weight_orig.abs()[m.weight_mask == 1].min()
    prune.random_unstructured(m, "weight", 2)
    prune.ln_structured(m, "weight", 1, 2, 0)
    assert m.weight_mask.sum() <= 4 and (m.weight_mask.sum(1) == 0).any()
    m(torch.ones(2, 4)).sum().backward()
    assert torch.equal(m.weight_orig.grad == 0, m.weight_mask == 0)
    kept = m.weight.detach().clone()
    prune.remove(m, "weight")
    assert not prune.is_pruned(m) and list(m.state_dict()) == ["bias", "weight"] and torch.equal(m.weight, kept)


def test_several_parameters_as_one():
    m, n = nn.Linear(3, 2), nn.Linear(2, 2)
    prune.global_unstructured([(m, "weight"), (n, "weight"), (n, "bias")], prune.L1Unstructured, amount=5)
    assert (m.weight_mask.sum() + n.weight_mask.sum() + n.bias_mask.sum()) == 12 - 5


@pytest.mark.parametrize("amount, error", [(-1, ValueError), (1.5, ValueError), ("a", TypeError), (99, ValueError)])
def test_amounts_are_checked_and_the_parameter_stays(amount, error):
    m = nn.Linear(2, 2)
    with pytest.raises(error):
        prune.l1_unstructured(m, "weight", amount)
    assert list(m.state_dict()) in (["weight", "bias"], ["bias", "weight"])


def test_a_folded_batch_norm_does_the_same():
    c, b, x = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), torch.randn(1, 2, 3, 3)
    b(torch.randn(4, 3, 2, 2))
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_conv_bn_eval(c, b)
    c.eval(), b.eval()
    assert torch.allclose(nn.utils.fuse_conv_bn_eval(c, b)(x), b(c(x)), atol=1e-5)
