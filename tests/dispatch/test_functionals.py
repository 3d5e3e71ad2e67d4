"""Protects what functions made of several operators compute under `__torch_dispatch__`, and their gradients: as without. Which operators
they are, compat/programs/dispatch/functionals compares with PyTorch."""
import pytest

import torchshim as torch
from torchshim._dispatch.formulas import FORMULAS
from torchshim.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional
torch.manual_seed(0)
W, I, IMG = torch.rand(3, 4) + 0.1, torch.tensor([2, 0, 1]), torch.rand(2, 4, 5, 6)
GRID, GRID3 = torch.rand(1, 2, 2, 2) - 0.5, torch.rand(1, 2, 2, 2, 3) - 0.5


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


CALLS = [
    lambda x: torch.cdist(x, W), lambda x: torch.cdist(x, W, p=1.0), lambda x: torch.cdist(torch.ones(30, 4), x), lambda x: F.pdist(x),
    lambda x: torch.diff(x, n=2), lambda x: torch.cov(x), lambda x: torch.corrcoef(x), lambda x: torch.quantile(x, 0.3, 1),
    lambda x: torch.quantile(x, torch.tensor([0.2, 0.7]), 0, interpolation="midpoint"), lambda x: torch.nanquantile(x, 0.4),
    lambda x: torch.trapezoid(x, W), lambda x: torch.cumulative_trapezoid(x, dx=2.0), lambda x: torch.stack(torch.gradient(x)),
    lambda x: torch.nanmean(x, 1), lambda x: torch.cross(x, W), lambda x: torch.matrix_exp(x[:, :3]), lambda x: torch.inner(x, W),
    lambda x: torch.take_along_dim(x, I), lambda x: x.repeat_interleave(I, 0), lambda x: torch.combinations(x[0]),
    lambda x: F.pairwise_distance(x, W, p=1.0), lambda x: F.cosine_similarity(x, W), lambda x: torch.msort(x),
    lambda x: torch.hsplit(x, 2)[1], lambda x: F.unfold(x[None, None], 2), lambda x: F.fold(x.reshape(1, 4, 3), (2, 4), 2),
    lambda x: F.grid_sample(x[None, None], GRID, align_corners=False),
    lambda x: F.grid_sample(x[None, None, None], GRID3, mode="nearest", padding_mode="border", align_corners=True),
    lambda x: F.bilinear(x, W, torch.arange(32.0).view(2, 4, 4)), lambda x: F.interpolate(x[None], size=7, mode="linear"),
    lambda x: F.interpolate(x[None, None], size=(5, 5), mode="bicubic"),
    lambda x: F.interpolate(x[None, None, None], scale_factor=2.0, mode="trilinear"),
    lambda x: F.pad(x[None], (1, 1, 1, 1), mode="replicate"), lambda x: F.pad(x, (1, 1), mode="reflect"),
    lambda x: F.max_pool3d(x[None, None, None], (1, 2, 2)), lambda x: F.avg_pool3d(x[None, None, None], (1, 2, 2)),
    lambda x: F.adaptive_max_pool2d(x[None], 2), lambda x: F.lp_pool2d(x[None, None], 2, 2), lambda x: F.local_response_norm(x[None], 2),
    lambda x: F.cross_entropy(x, I, label_smoothing=0.1), lambda x: F.nll_loss(x[None], torch.tensor([[0, 1, 2, 1]])),
    lambda x: F.ctc_loss(x[:, None].log_softmax(2), torch.tensor([[1]]), (3,), (1,)), lambda x: F.multi_margin_loss(x, I),
    lambda x: F.triplet_margin_loss(x, W, W + 1, swap=True), lambda x: F.poisson_nll_loss(x, W, full=True),
    lambda x: F.soft_margin_loss(x, W.sign()), lambda x: F.gaussian_nll_loss(x, W, torch.ones(3, 4)),
    lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, 1, -1, -1]] * 3)), lambda x: F.multilabel_soft_margin_loss(x, W),
    lambda x: F.cosine_embedding_loss(x, W, torch.tensor([1.0, -1.0, 1.0]), margin=0.2),
    lambda x: F.margin_ranking_loss(x, W, torch.ones(3, 4)), lambda x: F.hinge_embedding_loss(x, (W - 0.5).sign()),
    lambda x: x @ IMG[:, :, :4, 0].transpose(1, 2), lambda x: x[0] @ IMG[:, :, 0], lambda x: torch.lerp(x, W, W),
    lambda x: torch.atan2(x, W), lambda x: torch.hypot(x, W), lambda x: torch.index_add(x, 0, I, W), lambda x: torch.kthvalue(x, 2)[0],
    lambda x: torch.lgamma(x + 1), lambda x: torch.embedding(x, I), lambda x: F.embedding(I, x),
    *[lambda x, p=p: torch.linalg.vector_norm(x, p, 1) for p in (1, 1.5, 2, 3, float("inf"))], lambda x: torch.logcumsumexp(x, 1),
    lambda x: torch.stack(torch.var_mean(x, 1)), lambda x: torch.dist(x, W), lambda x: torch.trace(x),
    lambda x: torch.addmv(x[0, :3], x[:, :3], x[0, :3]), lambda x: torch.fft.rfft(x).abs(), lambda x: torch.fft.fft(x).abs(),
    lambda x: torch.fft.irfft(torch.fft.rfft(x)), lambda x: F.prelu(x, x[0, :1]), lambda x: F.rrelu(x),
    lambda x: torch.masked_scatter(x, x > 1, W), lambda x: F.max_unpool2d(x[None, :2, :2], torch.tensor([[[0, 1], [2, 3]]]), 2),
    lambda x: F.logsigmoid(x), lambda x: torch.asin(x / 9)]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_worth_what_it_is_unseen(call):
    at = torch.tensor([[0.5, 1.7, 2.9, -0.3], [0.2, 0.9, 3.1, 1.4], [2.2, 0.1, 1.1, 0.6]])
    a, b = at.clone().requires_grad_(), at.clone().requires_grad_()
    weights = torch.linspace(0.5, 1.5, call(at).numel()).view(call(at).shape)
    want = call(a)
    (want * weights).sum().backward()
    with Passing():
        made = call(b)
        (made * weights).sum().backward()
    assert made.dtype is want.dtype and made.shape == want.shape
    assert torch.allclose(made, want, rtol=1e-5, atol=1e-6) and torch.allclose(b.grad, a.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("write", [
    lambda x: x.clamp_min_(1), lambda x: x.clamp_(1, 2), lambda x: x.lerp_(W, 0.5), lambda x: x.pow_(2), lambda x: x.mul_(W).clamp_max_(1),
    lambda x: x.t_(), lambda x: x.transpose_(0, 1), lambda x: x.unsqueeze_(0), lambda x: x[:, :1].clone().squeeze_(1), lambda x: x.div_(W)])
def test_gradients_of_what_is_written_in_place_are_those_of_what_was_there(write):
    at = torch.tensor([[0.5, 1.7, 2.9, -0.3], [0.2, 0.9, 3.1, 1.4], [2.2, 0.1, 1.1, 0.6]])
    a, b = at.clone().requires_grad_(), at.clone().requires_grad_()
    write(a * 1).sum().backward()
    with Passing():
        write(b * 1).sum().backward()
    assert torch.equal(a.grad, b.grad)


def test_a_formula_says_what_its_helpers_read():
    assert "self" in FORMULAS["clamp_min"].reads and "self" not in FORMULAS["max.dim"].reads       # which asks for its shape alone
    assert FORMULAS["linalg_vector_norm"].result and FORMULAS["norm.ScalarOpt_dim"].result


def test_functions_of_torch_and_of_nn_functional_have_arguments_of_their_own():
    x = torch.rand(2, 2, 6)
    with Passing():
        assert x.unfold(2, 3, 1).shape == (2, 2, 4, 3) and F.unfold(x[None], (1, 3)).shape == (1, 6, 8)
        assert torch.equal(torch.embedding(W, I), F.embedding(I, W))
        with pytest.raises(NotImplementedError, match="torch.ctc_loss under __torch_dispatch__"):
            torch.ctc_loss(x.log_softmax(2), torch.tensor([[1], [1]]), torch.tensor([2, 2]), torch.tensor([1, 1]))
