"""Chains of elementwise operations are cut where their values are read several times: XLA would compute each anew for every reader."""
import jax
import jax.numpy as jnp
import pytest

import torchshim as torch
from torchshim.engine.compile import chains, policy
from torchshim.engine.compile.options import compiler_options


@pytest.fixture
def places(monkeypatch):
    """How many values each program that is compiled sets apart."""
    found, cuts = [], chains.cuts
    monkeypatch.setattr(chains, "cuts", lambda *a: found.append(len(cuts(*a))) or cuts(*a))
    policy.pin("compiled")
    yield found
    policy.pin(None)


@pytest.mark.parametrize("small", [True, False])
def test_what_is_apart_is_computed_once(small):
    def chain(x, cut):
        made = []
        for _ in range(24):
            x = jnp.sin(x) * 2.5
            made.append(x := chains.apart(x) if cut else x)
        return made
    def sines(cut):
        lowered = jax.jit(lambda x: chain(x, cut)).lower(jnp.ones(64, jnp.float32))
        return lowered.compile(compiler_options(small)).as_text().count(" sine(")
    assert sines(True) == 24 < sines(False)


def through(n, f):
    """The gradient of a chain of n calls of f, whose backward reads what each gives."""
    w = torch.linspace(0.5, 1.5, 61).requires_grad_()
    x = w * 1
    for _ in range(n):
        x = f(x)
    x.sum().backward()
    return [x.sum().item(), w.grad.tolist()]


@pytest.mark.parametrize("f", [lambda x: x.sin() * 1.01 + 0.1, lambda x: x - x.mean() + 0.1 * x.flip(0)])
def test_chains_that_a_backward_reads_are_cut_and_give_the_same(f, places):
    """A gradient that goes two ways at each step is read twice, though it has two names."""
    found = through(30, f)
    assert sum(places) >= 30 * 2 // chains.DEEP
    policy.pin("operators")
    torch.testing.assert_close(torch.tensor(found[1]), torch.tensor(through(30, f)[1]), rtol=1e-5, atol=1e-6)


def test_layers_have_nothing_to_cut(places):
    """Products end kernels; what they alone read has its place anyway."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(net(torch.ones(4, 8)), torch.tensor([0, 1, 1, 0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    assert places and not any(places)
