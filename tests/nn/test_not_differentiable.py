"""Arguments of losses to which torch gives no gradient are refused where they want one; what torch's kernels do not take is refused."""
import pytest
import torchshim as torch
import torchshim.nn.functional as F

P = torch.tensor([[0.2, 0.7], [0.4, 0.1]], requires_grad=True)
W = torch.ones(2, requires_grad=True)
CLASSES = torch.tensor([0, 1])


@pytest.mark.parametrize("name, argument, call", [
    ("binary_cross_entropy", "weight", lambda: F.binary_cross_entropy(P, P.detach(), W)),
    ("binary_cross_entropy_with_logits", "weight", lambda: F.binary_cross_entropy_with_logits(P, P.detach(), W)),
    ("binary_cross_entropy_with_logits", "pos_weight", lambda: F.binary_cross_entropy_with_logits(P, P.detach(), pos_weight=W)),
    ("nll_loss_forward", "weight", lambda: F.cross_entropy(P, CLASSES, W)),
    ("nll_loss_forward", "weight", lambda: F.nll_loss(P, CLASSES, W)),
    ("nll_loss2d_forward", "weight", lambda: F.cross_entropy(P[None], CLASSES[None], W)),
    ("multi_margin_loss", "weight", lambda: F.multi_margin_loss(P, CLASSES, weight=W)),
    ("soft_margin_loss", "target", lambda: F.soft_margin_loss(P, W)),
])
def test_an_argument_without_gradient_is_refused(name, argument, call):
    with pytest.raises(RuntimeError, match=f"The function '{name}' is not differentiable with respect to argument '{argument}'"):
        call()
    with torch.no_grad():
        call()


def test_class_weights_of_probabilities_have_a_gradient():
    F.cross_entropy(P, P.detach(), W).backward()
    assert W.grad is not None
    W.grad = None


@pytest.mark.parametrize("call", [
    lambda: F.multi_margin_loss(P.half(), CLASSES), lambda: F.multilabel_margin_loss(P.int(), CLASSES.expand(2, 2)),
    lambda: F.grid_sample(torch.ones(1, 1, 2, 2).int(), torch.ones(1, 1, 1, 2).int(), align_corners=True)])
def test_dtypes_without_a_kernel(call):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        call()


def test_names_of_weighted_losses():
    x = torch.ones(2, requires_grad=True)
    for f in (F.mse_loss, F.l1_loss, F.huber_loss):
        names = [f(x, x * 2, weight=torch.ones(2), reduction=how).grad_fn.name() for how in ("none", "sum", "mean")]
        assert names == ["MulBackward0", "SumBackward0", "DivBackward0"]


def test_kl_div_of_a_target_at_zero_has_torch_s_slope():
    target = torch.tensor([0.0, 0.5], requires_grad=True)
    F.kl_div(torch.zeros(2), target, reduction="sum").backward()
    assert target.grad[0].isnan() and torch.allclose(target.grad[1], torch.tensor(0.5).log() + 1)
