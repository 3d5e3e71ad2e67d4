"""Values, layouts and errors at the edges, each as real torch gave it: numbers beyond a dtype, half types rounded step by step, strides of
results that torch's kernels write contiguous."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F

OVERFLOW = "value cannot be converted to type {} without overflow"


@pytest.mark.parametrize("call, told", [
    (lambda: torch.zeros(2, dtype=torch.int8).clamp(max=300), "int8_t"),
    (lambda: torch.zeros(2, dtype=torch.uint8).clamp(0, 300), "uint8_t"), (lambda: torch.zeros(2).clamp_min(1e40), "float"),
    (lambda: torch.zeros(2, dtype=torch.bfloat16).clamp(max=1e40), "c10::BFloat16"),
    (lambda: torch.zeros(2, dtype=torch.int8).clamp(max=1e40), "float"),
    (lambda: torch.where(torch.ones(2) > 0, 300, torch.zeros(2, dtype=torch.int8)), "int8_t"),
    (lambda: torch.where(torch.ones(2) > 0, torch.zeros(2), 1e40), "float"),
    (lambda: F.pad(torch.zeros(2, dtype=torch.uint8), (1, 1), value=-1), "uint8_t"),
    (lambda: F.pad(torch.zeros(2), (1, 1), value=1e40), "float"),
    (lambda: F.pad(torch.zeros(2, dtype=torch.int32), (1, 1), value=float("inf")), "int"),
    (lambda: torch.zeros(2, dtype=torch.int8).masked_fill(torch.ones(2) > 0, torch.tensor(300)), "int8_t"),
    (lambda: torch.zeros(2, dtype=torch.float16).fill_(70000), "c10::Half"),
])
def test_numbers_beyond_the_dtype(call, told):
    with pytest.raises(RuntimeError) as error:
        call()
    assert str(error.value) == OVERFLOW.format(told)


def test_numbers_that_torch_lets_pass():
    # without dimensions fill_ casts, and where does not look at what becomes infinite in a half type
    assert torch.zeros((), dtype=torch.float16).fill_(70000) == torch.full((), 1e40, dtype=torch.bfloat16) == float("inf")
    assert torch.where(torch.ones(1) > 0, 70000, torch.zeros(1, dtype=torch.float16)).isinf().all()
    assert torch.zeros(2, dtype=torch.uint8).clamp(max=255).dtype is torch.uint8
    assert torch.zeros(2).clamp(max=float("inf")).sum() == 0


def test_half_types_are_rounded_step_by_step():
    x = torch.tensor([[0, 5.25, 2.25, 7.5], [4.5, 1.5, 6.75, 3.75], [0.75, 6, 3, 0]], dtype=torch.bfloat16)
    assert x.log_softmax(1).tolist() == [[-7.59375, -2.359375, -5.34375, -0.10400390625], [-2.40625, -5.40625, -0.15234375, -3.15625],
                                         [-5.3125, -0.05322265625, -3.046875, -6.0625]]
    assert torch.trapezoid(x, x).tolist() == [28.125, -3.125, -0.25]
    assert torch.mvlgamma(x[0] + 4, 2).tolist() == [3.578125, 21.875, 10.1875, 32.0]


def test_layouts_of_results():
    x = torch.randn(2, 3, 4, 2).contiguous(memory_format=torch.channels_last)
    for f in (F.logsigmoid, F.rrelu, lambda x: torch.mvlgamma(x.abs() + 4, 2)):
        assert f(x).is_contiguous()
    assert F.rms_norm(x, (2,)).stride() == (24, 1, 6, 3)
    assert [t.stride() for t in torch.frexp(x)] == [(24, 1, 6, 3)] * 2
    assert F.prelu(torch.randn(3, 1).expand(3, 4), torch.ones(1)).stride() == (4, 1)
    assert F.pad(torch.randn(4, 2, 3).permute(1, 2, 0), (-1, -1)).stride() == (3, 1, 6)


def test_slopes():
    x = torch.tensor([0.0, 0.5, 1.0], requires_grad=True)
    slope, = torch.autograd.grad(torch.special.ndtri(x).sum(), x)
    assert slope.tolist() == [float("inf"), pytest.approx((2 * torch.pi) ** 0.5), float("inf")]
    with pytest.raises(RuntimeError, match="zeta"):
        torch.special.zeta(x + 2, 2).sum().backward()
    x = torch.tensor([float("inf"), float("-inf"), 0.0, 1.0, 3.0], requires_grad=True)
    slope, = torch.autograd.grad(F.huber_loss(x, torch.zeros(5), reduction="sum"), x, create_graph=True)
    assert slope.tolist() == [1, -1, 0, 1, 1]
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [0, 0, 1, 0, 0]


def test_what_is_refused():
    with pytest.raises(IndexError, match=r"amax\(\): Expected reduction dim -2 to have non-zero size."):
        torch.zeros(2, 0, 3).amax(-2)
    with pytest.raises(RuntimeError, match="nansum on CPU does not support complex inputs"):
        torch.zeros(2, dtype=torch.complex64).nanmean()
    with pytest.raises(RuntimeError, match="but got BFloat16 and BFloat16"):
        torch.complex(*[torch.zeros(2, dtype=torch.bfloat16)] * 2)
    with pytest.raises(RuntimeError, match="Expected 2 to 3 dimensions, but got 4-dimensional"):
        F.max_pool1d(torch.zeros(1, 2, 3, 4), 2, return_indices=True)
    with pytest.raises(NotImplementedError, match="\"avg_pool3d_out_frame\" not implemented for 'BFloat16'"):
        F.local_response_norm(torch.zeros(1, 2, 3, 4, dtype=torch.bfloat16), 2)
    with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
        F.poisson_nll_loss(*[torch.zeros(2, dtype=torch.bool)] * 2)
    assert F.dropout(torch.ones(2, dtype=torch.int64), 1.0).tolist() == [0, 0]


def test_nan_among_others():
    nan, inf = float("nan"), float("inf")
    assert torch.polygamma(2, torch.tensor([nan, -3.5])).tolist() == [pytest.approx(nan, nan_ok=True), pytest.approx(-0.0615568, rel=1e-5)]
    assert torch.special.zeta(torch.tensor([nan, 3.0]), torch.tensor([2.0, nan])).isnan().all()
    x = torch.tensor([nan, inf, -2.0, 0.0, -0.0], requires_grad=True)

    def slope(f):
        return torch.autograd.grad(f(x).sum(), x)[0].tolist()
    assert slope(torch.prod) == [0] * 5
    assert slope(lambda x: torch.norm(x, inf)) == slope(lambda x: torch.norm(x, -inf)) == [0] * 5
    assert slope(lambda x: torch.norm(x, 1)) == [0, 1, -1, 0, 0]
    assert slope(lambda x: torch.special.logit(x, 0.1))[1:] == [0] * 4 and slope(lambda x: torch.special.logit(x, 0.1))[0] != 0
    assert F.multilabel_margin_loss(torch.tensor([nan, 1.0]), torch.tensor([0, -1])) == 0


def test_steps_of_kernels():
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(F.hardsigmoid(x), x)[0].item() == 0.1666666716337204            # a float32 sixth
    r = torch.tensor([0.0, 2.0, -2.0], requires_grad=True)
    slope, = torch.autograd.grad(torch.polar(r, torch.zeros(3)).real.sum(), r)
    assert slope.tolist() == [0, 1, -1]
    a, b = torch.tensor([1, 5], dtype=torch.uint8), torch.tensor([2, 3], dtype=torch.uint8)
    assert F.margin_ranking_loss(a, b, torch.ones(2, dtype=torch.uint8), reduction="none").tolist() == [1, 254]


def test_a_pure_half_batch_norm_keeps_rounded_statistics():
    x = (torch.arange(24) * 7 % 11 * 0.75).reshape(2, 3, 4).to(torch.bfloat16)
    mean, scale = x.float().mean((0, 2)), 1 / (x.float().var((0, 2), correction=0) + 1e-5).sqrt()
    mean, scale = [t.bfloat16().float().view(1, 3, 1) for t in (mean, scale)]
    assert F.batch_norm(x, None, None, training=True).equal(((x.float() - mean) * scale).bfloat16())
    assert not F.batch_norm(x, None, None, torch.ones(3), training=True).equal(((x.float() - mean) * scale).bfloat16())


def test_refused_targets_leave_no_error_behind():
    with pytest.raises(RuntimeError, match="non-empty vector or matrix"):
        F.multilabel_margin_loss(torch.zeros(1, 3, 1), torch.arange(3).reshape(1, 3, 1) + 0)
    assert torch.zeros(2).sum().item() == 0
