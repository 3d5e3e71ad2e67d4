"""Special functions at ordinary and at special places. Expectations are mpmath's, or PyTorch 2.13's conventions."""
import math

import pytest

import torchshim as torch

S = torch.special
INF, NAN = math.inf, math.nan


def same(t, expected, rel=1e-12):
    assert t.tolist() == pytest.approx(expected, rel=rel, abs=1e-15, nan_ok=True)


def d(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def test_bessel():
    x = d(0, 1, 5.5, 11.9, 12.1, 1000, INF)
    same(S.bessel_j0(x), [1, .7651976865579666, -.00684386941781933, .025049441699589645, .06966677360680731, .02478668615242018, NAN])
    same(S.bessel_j1(-x[:3]), [0, -.4400505857449335, .34143821542904335])
    same(S.bessel_y0(x[:3]), [-INF, .08825696421567698, -.33948059288191099])
    same(S.bessel_y1(d(-1, 1, 20)), [NAN, -.7812128213002887, -.16551161436252168])
    same(S.modified_bessel_k0(d(-1, 0, 1, 3)), [NAN, INF, .42102443824070833, .03473950438627925])
    same(S.scaled_modified_bessel_k1(d(.5, 2, 700)), [2.731009708211785, 1.0334768470686888, .047396187653494549])
    same(S.airy_ai(d(-20, -3, 0, 1, 5, 104, INF)),
         [-.17640612707798469, -.37881429367765826, .3550280538878172, .13529241631288141, .00010834442813607442, 0, NAN], 1e-12)
    assert S.bessel_j0(torch.tensor([1, 2])).dtype == torch.float32
    with pytest.raises(NotImplementedError, match="\"bessel_j0_cpu\" not implemented for 'ComplexFloat'"):
        S.bessel_j0(torch.ones(1, dtype=torch.complex64))


def test_limits():
    same(S.zeta(d(2, 2, INF, INF), d(1, INF, .5, 2)), [math.pi ** 2 / 6, NAN, INF, NAN])
    same(S.gammainc(d(0, INF, INF, 2), d(.5, 1, INF, 1)), [1, 0, NAN, 1 - 2 / math.e])
    same(S.gammaincc(d(0, INF), d(.5, 1)), [0, 1])
    # as many terms as the root of a
    a, x = d(1e20, 1e10, 1e10, 1e12, 1e9, 1e20, 1e9), d(1e20, 1e10, 1.00002e10, 1.000001e12, 1e3, 1e19, INF)
    same(S.gammainc(a, x), [.500000000013298, .5000013298075828, .977249328145, .841344746068, 0, 0, 1], 1e-10)
    same(S.gammaincc(a, x), [.4999999999867019, .49999867019241717, .022750671855, .158655253931, 1, 1, 0], 1e-10)
    same(S.log_ndtr(d(-50, -1, 4, 9)), [-1254.8313611394103, -1.841021645009264, -3.1671743377489255e-05, -1.1285884059538406e-19], 1e-12)
    same(S.spherical_bessel_j0(d(0, INF)), [1, 0])
    x = d(-50, 3).requires_grad_()
    S.log_ndtr(x).sum().backward()
    same(x.grad, [50.01998403190402, .004437839042137064], 1e-10)


def test_polynomials_of_high_degree():
    x = d(-1, .5, 1, 2)
    same(S.chebyshev_polynomial_t(x, d(51, 10 ** 9, 10 ** 9, 8)), [-1, math.cos(1e9 * math.acos(.5)), 1, 18817], 1e-6)
    same(S.chebyshev_polynomial_v(x[:1], d(7)), [-15])
    same(S.shifted_chebyshev_polynomial_u(d(0, .3), d(9, 8)), [-10, math.sin(9 * math.acos(-.4)) / math.sin(math.acos(-.4))])
    same(S.legendre_polynomial_p(x, 3), [-1, -.4375, 1, 17])
    # degrees beyond an int64 count as negative
    x, n = torch.tensor([1, .5, 60, 8e37, NAN, 2]), torch.tensor([1e20, INF, 1e6, 3, 6, NAN])
    same(S.hermite_polynomial_h(x, n), [0, 0, NAN, NAN, NAN, 0])


@pytest.mark.parametrize("f, named", [(torch.igamma, "igamma: input"), (torch.igammac, "igammac: input"), (torch.special.zeta, "zeta")])
def test_a_derivative_that_is_missing_is_told_in_torchs_words(f, named):
    """Only where that gradient is asked for: the other operand's is there all the same, twice in a row, too."""
    a, b = torch.tensor([1.5, 2.0], requires_grad=True), torch.tensor([1.5, 2.5], requires_grad=True)
    for _ in range(2):
        with pytest.raises(NotImplementedError, match=f"^the derivative for '{named}' is not implemented.$"):
            f(a, b).sum().backward()
        with pytest.raises(NotImplementedError, match="is not implemented"):
            torch.autograd.grad(f(a, b.detach()).sum(), a, create_graph=True)
        alone, = torch.autograd.grad(f(a.detach(), b).sum(), b)
        for create_graph in (False, True):
            assert torch.autograd.grad(f(a, b).sum(), b, create_graph=create_graph)[0].tolist() == alone.tolist()
    assert a.grad is b.grad is None


def test_zeta_of_a_number_names_its_history_as_torch_does():
    x = torch.tensor([1.5, 2.0], requires_grad=True)
    names = [torch.special.zeta(*args).grad_fn.name() for args in ((x, x), (2.0, x), (x, 2.0))]
    assert names == ["SpecialZetaBackward0", "SpecialZetaBackward1", "SpecialZetaBackward2"]


def test_the_gradient_of_log_ndtr_takes_torchs_steps():
    x = torch.tensor([-1e30, -300.0, -3.5, float("-inf")], requires_grad=True)
    made = torch.autograd.grad(torch.special.log_ndtr(x).sum(), x)[0].tolist()
    assert math.isnan(made[0]) and math.isnan(made[3]) and made[1:3] == pytest.approx([299.5122375488281, 3.75139], rel=1e-5)
    x = torch.tensor([-1e30], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(torch.special.log_ndtr(x).sum(), x)[0].item() == INF


def test_the_trigamma_function_has_torchs_digits():
    """Even at its poles, where the sine of a rounded pi is not quite zero."""
    x = [0.1, 2.5, -1.2, -1.0]
    assert torch.polygamma(1, torch.tensor(x, dtype=torch.float64)).tolist() == [
        101.43329914989455, 0.4903577562398206, 27.993918581753697, 6.580790147320947e+32]
    assert torch.polygamma(1, torch.tensor(x)).tolist() == [101.43331146240234, 0.49035775661468506, 27.9938907623291, 1291369695936512.0]


def test_a_fourth_power_is_no_product():
    assert (torch.tensor([1.1, 1.3, 1.7, 2.3]) ** 4).tolist() == [1.4641001224517822, 2.8560996055603027, 8.35210132598877, 27.984098434448242]
