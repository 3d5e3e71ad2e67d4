"""The sign of zeros, as torch's kernels leave it, and gradients that infinite parameters do not reach."""
import math

import pytest

import torchshim as torch
import torchshim.nn.functional as F
from torchshim.engine.compile import policy


def signs(x):
    return torch.signbit(x).tolist()


def test_bounds_keep_the_sign_of_zero():
    x = torch.tensor([-0.0, 0.0])
    assert signs(F.relu6(x)) == signs(F.hardtanh(x, 0.0, 6.0)) == [True, False]


def test_gradients_that_are_zero_by_rule_are_positive():
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    for f in (lambda: torch.div(x, 2, rounding_mode="floor"), lambda: x ** 0):
        g, = torch.autograd.grad(f(), x, torch.tensor([-1.0, -1.0]))
        assert g.tolist() == [0, 0] and signs(g) == [False, False]


def test_leaky_relu_multiplies_by_its_slope():
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    g, = torch.autograd.grad(F.leaky_relu(x, 0.0), x, torch.tensor([-1.0, -1.0]))
    assert g.tolist() == [0, -1] and signs(g) == [True, True]


def test_an_infinite_slope_of_prelu_does_not_reach_positive_elements():
    x = torch.tensor([2.0, -3.0], requires_grad=True)
    g, = torch.autograd.grad(F.prelu(x, torch.tensor([math.inf])), x, torch.ones(2))
    assert g.tolist() == [1, math.inf]


def test_tests_of_numbers_have_no_out_form():
    for f in (torch.isnan, torch.isinf, torch.isfinite, torch.isreal, torch.relu, torch.selu):
        try:
            f(torch.ones(2), out=torch.ones(2))
        except TypeError as error:
            assert "unexpected keyword argument 'out'" in str(error)
        else:
            raise AssertionError(f)


def test_gradients_of_complex_products():
    """A sum of zeros is +0, whichever factor is conjugated."""
    a, b = torch.tensor([[1., -2.], [3., 4.]]) + 0j, torch.tensor([[-1., 5.], [2., -3.]]) + 0j
    for f in (torch.matmul, lambda x, y: torch.einsum("ij,jk->ik", x, y), lambda x, y: torch.bmm(x[None], y[None])[0]):
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        for g in torch.autograd.grad(f(x, y).abs().sum(), (x, y)):
            assert not torch.signbit(g.imag).any() and not g.imag.any()


@pytest.mark.parametrize("loss, imaginary", [
    (lambda z, w: (z * w).sum().real, [0., 0., -1., -0.]), (lambda z, w: (z * 2).sum().real, [0., 0., 0., 0.]),
    (lambda z, w: z.abs().sum(), [0., .8, .6, 0.]), (lambda z, w: (z * z).sum().real, [0., -8., -6., -0.]),
    (lambda z, w: torch.fft.fft(z).real.sum(), [0., 0., 0., 0.]), (lambda z, w: z.roll(1).sum().real, [0., 0., 0., 0.]),
    (lambda z, w: (z @ w).real, [0., 0., -1., -0.]), (lambda z, w: torch.where(z.real > 0, z, w).real.sum(), [0., 0., 0., 0.]),
])
def test_complex_gradients_have_torchs_zeros(loss, imaginary):
    """torch multiplies with conjugates; conjugating what comes out made -0j of its 0j, and that was printed."""
    z = torch.tensor([1 + 0j, 3 + 4j, -4 + 3j, -2 + 0j], requires_grad=True)
    w = torch.tensor([0.5 + 0j, 1 + 0j, 2 + 1j, -1 + 0j])
    loss(z, w).backward()
    assert [repr(round(v, 6)) for v in z.grad.imag.tolist()] == [repr(v) for v in imaginary]


@pytest.mark.parametrize("f", [torch.acos, torch.atan, torch.log2, lambda z: z / 2, lambda z: 2 / z, torch.nn.functional.normalize,
                               lambda z: torch.logaddexp(z, z), torch.var, lambda z: torch.linalg.norm(z, dim=-1)])
def test_complex_gradients_of_quotients_and_logarithms(f):
    """Formulas that begin with a number."""
    z = torch.tensor([[0.5 + 0.25j, 0.75 - 0.5j], [0.25 + 1j, -0.5 + 0.5j]], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: torch.view_as_real(f(z)) if f(z).is_complex() else f(z), z)


@pytest.mark.parametrize("tier", ["operators", "compiled"])
def test_running_extremes_have_the_sign_of_the_latest_zero(tier):
    policy.pin(tier)
    try:
        x = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0])
        for f in (torch.cummax, torch.cummin):
            for given in (x, x.repeat(40)[:5], x.bfloat16(), x[:, None].expand(5, 2)):
                assert signs(f(given, 0).values.reshape(5, -1)[:4, 0]) == [False, True, False, True]
    finally:
        policy.pin(None)


@pytest.mark.parametrize("tier", ["operators", "compiled"])
def test_a_median_that_is_zero_has_the_sign_of_the_first(tier):
    policy.pin(tier)
    try:
        for zeros in ([0.0] * 3 + [-0.0] * 4, [-0.0] * 3 + [0.0] * 4, [0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]):
            x = torch.tensor([*zeros, 1.0, -1.0])
            for m in (torch.median(x), torch.nanmedian(torch.cat((x, x.new_full((2,), math.nan))))):
                assert m.item() == 0 and math.copysign(1, m.item()) == math.copysign(1, zeros[0])
    finally:
        policy.pin(None)
