"""torch.utils.checkpoint: backward computes again what the graph did not keep, and gets the same."""
import pytest

import torchshim as torch
from torchshim.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))


def gradients(run):
    net = model()
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    torch.manual_seed(1)
    run(net, x).pow(2).sum().backward()
    return [x.grad, *[p.grad for p in net.parameters()], torch.rand(1)]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_and_random_numbers_are_those_of_the_plain_run(reentrant):
    plain = gradients(lambda net, x: net(x))
    for run in (lambda net, x: checkpoint(net, x, use_reentrant=reentrant),
                lambda net, x: checkpoint_sequential(net, 2, x, use_reentrant=reentrant)):
        for a, b in zip(gradients(run), plain):
            assert torch.equal(a, b)


def test_the_function_runs_again_and_stops_when_all_is_there():
    calls = []

    def f(x):
        y = x.sin().cos()
        calls.append(1)
        return y.clone()
    a = torch.tensor(1.0, requires_grad=True)
    checkpoint(f, a, use_reentrant=False).backward()
    assert len(calls) == 1                     # the second run ended before
    checkpoint(f, a, use_reentrant=False, early_stop=False).backward()
    assert len(calls) == 3


def test_nested_checkpoints_and_second_derivatives():
    def inner(z):
        return z.sin().cos()

    def outer(x):
        return checkpoint(inner, x * 2, use_reentrant=False).exp()
    a = torch.tensor(0.3, requires_grad=True)
    out = checkpoint(outer, a.sin(), use_reentrant=False)
    g, = torch.autograd.grad(out, a, create_graph=True)
    gg, = torch.autograd.grad(g, a)
    plain = inner(a.sin() * 2).exp()
    h, = torch.autograd.grad(plain, a, create_graph=True)
    assert torch.equal(g, h) and torch.allclose(gg, torch.autograd.grad(h, a)[0])


def test_refusals():
    a = torch.tensor(0.3, requires_grad=True)
    with pytest.raises(RuntimeError, match="incompatible with .grad()"):
        torch.autograd.grad(checkpoint(torch.sin, a, use_reentrant=True), a)
    runs = []

    def changes(x):
        runs.append(1)
        return x.sin().cos() if len(runs) > 1 else x.sin().cos().exp()
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        checkpoint(changes, a, use_reentrant=False).backward()

    def reshaped(x):
        runs.append(1)
        return x.expand(len(runs)).clone().sin().sum()
    with pytest.raises(CheckpointError, match="have different metadata"):
        checkpoint(reshaped, a, use_reentrant=False).backward()


def test_hooks_around_a_checkpoint_see_its_arguments():
    seen = []
    a = torch.tensor(0.3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        out = checkpoint(lambda x: x.sin().cos().exp(), a, use_reentrant=False)
    assert len(seen) == 1 and seen[0] is a
    out.backward()
    assert torch.allclose(a.grad, torch.autograd.grad(a.sin().cos().exp(), a)[0])


def test_what_runs_again_begins_with_the_same_bits():
    """The arguments of the second run are other values to a compiler, and yet the same."""
    import jax.numpy as jnp
    from torchshim.ops.remat import again
    odd = jnp.array([-0.0, 0.0, jnp.inf, -jnp.inf, jnp.nan, 1e-30], jnp.float32)
    for ct in (jnp.ones(3), jnp.full(1, jnp.nan), jnp.ones((0,))):
        assert again.body(odd, ct, -0.0, float("nan")).tobytes() == odd.tobytes()


def test_both_kinds_agree_with_no_checkpoint_when_compiled():
    from torchshim.engine.compile import policy
    x = torch.linspace(-2, 2, 8, requires_grad=True)
    block = lambda t: (t.sin() * 2).exp()
    (plain,) = torch.autograd.grad(block(block(x)).sum(), x)
    policy.pin("compiled")
    try:
        for reentrant in (True, False):
            x.grad = None
            y = checkpoint(block, checkpoint(block, x, use_reentrant=reentrant), use_reentrant=reentrant)
            y.sum().backward()
            assert torch.allclose(x.grad, plain)
    finally:
        policy.pin(None)
