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
    """Implicit reparameterisation: a Beta(a, 1) sample is u ** (1/a)."""
    torch.manual_seed(0)
    a = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    x = D.Beta(a, torch.ones(3, dtype=torch.float64)).rsample()
    x.sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), (-x * x.log() / a).detach().numpy(), rtol=1e-8)


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
