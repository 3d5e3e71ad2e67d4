"""Protects torch.distributions: torch's samples from the same seeds, densities, moments, divergences, transforms, gradients and errors."""
import json
import math
import pathlib

import numpy as np
import pytest

import torchshim as torch
from torchshim import distributions as D
from tests.distributions import cases

GOLDENS = json.loads((pathlib.Path(__file__).parent / "goldens.json").read_text())


def check(got, want):
    if isinstance(want, list) and want and not isinstance(want[0], list):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)
    elif isinstance(want, list):
        for g, w in zip(got, want, strict=True):
            check(g, w)
    else:
        assert got == want


@pytest.mark.parametrize("name", GOLDENS["describe"])
def test_a_distribution_is_torchs(name):
    got = cases.describe(torch, name)
    for what, want in GOLDENS["describe"][name].items():
        check(got[what], want)


def test_divergences_are_torchs():
    got = cases.divergences(torch)
    assert got.keys() == GOLDENS["divergences"].keys()
    for pair, want in GOLDENS["divergences"].items():
        check(got[pair], want)


def test_transforms_are_torchs():
    got = cases.transforms(torch)
    assert got.keys() == GOLDENS["transforms"].keys()
    for name, want in GOLDENS["transforms"].items():
        check(got[name], want)


def test_a_cached_inverse_is_the_argument():
    t, x = D.ComposeTransform([D.ExpTransform(cache_size=1), D.AffineTransform(1.0, 2.0, cache_size=1)]), torch.tensor([0.1, 2.0])
    assert t.inv(t(x)) is x and t.inv.inv is t


@pytest.mark.parametrize("make", [lambda a: D.Gamma(a, 2.0), lambda a: D.Beta(a, 1.5), lambda a: D.Dirichlet(torch.stack([a, 2 * a], -1)),
                                  lambda a: D.StudentT(a + 2), lambda a: D.Normal(a, 1.0)])
def test_gradients_of_samples_move_the_mean(make):
    """The mean over many samples of d sample / d a is d mean / d a."""
    torch.manual_seed(0)
    a = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    x = make(a).rsample((4000,))
    got, = torch.autograd.grad(x.reshape(4000, -1)[:, 0].mean(), a)
    want, = torch.autograd.grad(make(a).mean.reshape(-1)[0] + 0 * a, a)
    assert abs(got - want) < 0.1


def test_a_samples_gradient_keeps_its_quantile():
    """Implicit reparameterisation: a Beta(a, 1) sample is u ** (1/a), whose derivative torch approximates (the last to four digits)."""
    torch.manual_seed(0)
    a = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    x = D.Beta(a, torch.ones(3, dtype=torch.float64)).rsample()
    x.sum().backward()
    np.testing.assert_allclose(a.grad.numpy()[:2], (-x * x.log() / a).detach().numpy()[:2], rtol=1e-8)
    np.testing.assert_allclose(a.grad.numpy(), [0.06619622767925, 0.06104505962036, 0.03051466925515], rtol=1e-12)


@pytest.mark.parametrize("make, text", [
    (lambda: D.Normal(0.0, -1.0),
     r"Expected parameter scale \(Tensor of shape \(\)\) of distribution Normal\(loc: 0.0, scale: -1.0\) to satisfy"),
    (lambda: D.Bernoulli(), "Either `probs` or `logits` must be specified, but not both."),
    (lambda: D.Uniform(1.0, 0.0), "to satisfy the constraint LessThan"),
    (lambda: D.Normal(0.0, 1.0).log_prob(3.0), "The value argument to log_prob must be a Tensor"),
    (lambda: D.Exponential(torch.ones(2)).log_prob(torch.tensor([-1.0, 1.0])), "to be within the support"),
    (lambda: D.Normal(torch.ones(2), 1.0).log_prob(torch.ones(3)), "Value is not broadcastable"),
])
def test_what_is_not_allowed_is_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_checks_can_be_turned_off():
    assert math.isnan(D.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(1.0)).item())


def test_the_closest_divergence_is_taken():
    class Mine(D.Normal):
        pass
    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0)).item() == 0.5
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Normal and q type StudentT"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))


@pytest.mark.parametrize("make", [lambda: D.Gamma(1.0, 2.0), lambda: D.Chi2(torch.tensor(0.5)), lambda: D.Poisson(3.0),
                                  lambda: D.Binomial(3, 0.5), lambda: D.StudentT(1.0), lambda: D.Beta(1.0, 2.0)])
def test_samples_of_scalar_parameters_have_no_dimension(make):
    assert make().sample().shape == () and make().sample((1,)).shape == (1,)


def test_gradients_of_gamma_and_beta_samples_are_torchs_approximations():
    """Each region of them: series, saddle points near and far, fitted quotients. Exact derivatives differ in the third to sixth digit."""
    d = torch.float64
    a = torch.tensor([.05, .5, 1.5, 7.9, 20., 100.], dtype=d)
    for x, want in ((.5, [9.749673653416, 1.337355483878, 0.607713502041, 0.189607766261, 0.095130915179, 0.026647873953]),
                    (3., [17.343466352582, 2.913304453672, 1.547497971841, 0.60496086098, 0.337463112339, 0.108612857678]),
                    (21., [22.678791878294, 4.92815942115, 3.123364352294, 1.599171207367, 1.033152750373, 0.415524833117])):
        np.testing.assert_allclose(torch._standard_gamma_grad(a, torch.full((6,), x, dtype=d)), want, rtol=1e-10)
    assert torch._standard_gamma_grad(torch.tensor([1., 100.]), torch.tensor([0., 1e-6])).tolist() == [0, 0]
    x, a, n = torch.tensor([[.01, .98, .3, .6, .45, .9], [.5, 3., 2., 1., 20., 7.], [2., 3.5, 9., 2.5, 44., 14.]], dtype=d)
    np.testing.assert_allclose(torch._dirichlet_grad(x, a, n), [0.085561407547, 0.357006918257, 0.145468469276, 0.664377758632,
                                                                0.02297528283, 0.09961097955], rtol=1e-10)


def test_what_cannot_be_expanded_says_which_sizes():
    with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(7\) must match the existing size \(2\)"):
        torch.distributions.Weibull(torch.ones(2), torch.ones(2)).expand((7,))


def test_checks_of_small_values_compute_what_waits_once_and_record_nothing():
    """A move of a policy: its arguments and its action are checked, which needs the probabilities and nothing behind them."""
    w = torch.ones(2, 2, requires_grad=True)

    def move():
        policy = D.Categorical(torch.softmax(torch.ones(1, 2) @ w, 1))
        return policy.log_prob(policy.sample())
    for _ in range(4):
        move()
    before = torch.stats()
    held = [move() for _ in range(5)]
    after = torch.stats()
    assert after["flushes"] - before["flushes"] <= 5 and after["states"] - before["states"] < 8 * 5
    torch.stack(held).sum().backward()
    assert w.grad is not None


@pytest.mark.parametrize("make", [lambda x: D.Categorical(probs=x), lambda x: D.Normal(x[0, 0], x[0]), lambda x: D.Uniform(-x, x),
                                  lambda x: D.Dirichlet(x), lambda x: D.Poisson(x), lambda x: D.Independent(D.Exponential(x), 1)])
def test_checks_find_what_is_wrong_each_time_they_are_made(make):
    """The third check of a kind repeats what the second one computed; a change of the values is seen, a bound's too."""
    for bad in (False, False, False, True, False, True):
        x = torch.tensor([[0.5, -1.0 if bad else 1.0]], requires_grad=True)
        if bad:
            with pytest.raises(ValueError, match="but found invalid values|is not defined when low"):
                make(x)
        else:
            make(x)
    for high, fits in ((1.0, True), (2.0, True), (1.0, True), (0.25, False), (2.0, True), (0.25, False)):
        u, value = D.Uniform(torch.zeros(2), torch.tensor([1.0, high])), torch.tensor([0.5, 0.5])
        if fits:
            u.log_prob(value)
        else:
            with pytest.raises(ValueError, match="to be within the support"):
                u.log_prob(value)
    for n, fits in ((3, True), (3, True), (3, True), (2, False), (3, True)):
        c = D.Categorical(torch.ones(n))
        if fits:
            c.log_prob(torch.tensor([2]))
        else:
            with pytest.raises(ValueError, match="to be within the support"):
                c.log_prob(torch.tensor([2]))


def test_constraints_of_the_users_are_asked_themselves():
    class Even(D.constraints.Constraint):
        asked = 0

        def check(self, value):
            Even.asked += 1
            assert value.requires_grad
            return value % 2 == 0

    class Mine(D.Distribution):
        arg_constraints = {"n": Even()}

        def __init__(self, n):
            self.n = n
            super().__init__(n.size())
    for k in range(4):
        Mine(torch.tensor([2.0 * k], requires_grad=True))
    assert Even.asked == 4
    with pytest.raises(ValueError, match="parameter n"):
        Mine(torch.tensor([3.0], requires_grad=True))


def test_the_gradient_of_dirichlet_samples():
    """PyTorch 2.13's numbers, and those of the samples' own history."""
    from torchshim.distributions.dirichlet import _Dirichlet_backward
    x, alpha, g = torch.tensor([[0.2, 0.3, 0.5]]), torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([[1.0, 0.0, 0.0]])
    assert _Dirichlet_backward(x, alpha, g).tolist()[0] == pytest.approx([0.2421, -0.0478, -0.1548], abs=5e-5)
    alpha.requires_grad_()
    x = torch.distributions.Dirichlet(alpha).rsample()
    assert torch.allclose(torch.autograd.grad(x, alpha, g)[0], _Dirichlet_backward(x, alpha, g))


def test_a_sample_shape_is_a_sequence_of_integers():
    for d in (D.Normal(0.0, 1.0), D.Categorical(torch.ones(3)), D.Gamma(1.0, 1.0)):
        with pytest.raises(TypeError, match="'int' object is not iterable"):
            d.sample(5)
        assert type(d._extended_shape([2])) is torch.Size and d.sample([2]).shape == (2,)
