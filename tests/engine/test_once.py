"""What a trace that comes again makes twice is computed once: it must not show in any result, nor in memory that somebody holds."""
import pytest

import torchshim as torch
from torchshim.engine import execute
from torchshim.engine.compile import policy


@pytest.fixture
def ran(monkeypatch):
    """The names of the operators of each trace that is interpreted."""
    found = []

    def watch(steps):
        found.append([step[6].op.name for step in steps])
        return steps
    monkeypatch.setattr(execute, "watch", watch)
    return found


def _repeat(f, times=4):
    policy.pin("operators")
    try:
        return [f() for _ in range(times)]
    finally:
        policy.pin(None)


@pytest.mark.parametrize("held", [False, True])
def test_a_graph_gone_through_twice_computes_its_gradients_once(ran, held):
    """Where somebody holds the cotangents, too: they are two arrays, of which one is read."""
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)

    def step():
        x.grad = None
        loss = (x.sigmoid() * x).sum()
        seeds = [torch.ones(()), torch.ones(())] if held else [None, None]
        loss.backward(seeds[0], retain_graph=True)
        loss.backward(seeds[1])
        return x.grad.tolist(), loss.item()

    first, *others = _repeat(step)
    assert all([other == first for other in others])
    assert ran[-1].count("sigmoid_backward") == 1


def test_two_results_that_are_held_have_memory_of_their_own(ran):
    x = torch.tensor([1.0, 2.0])

    def step():
        a, b = x.exp(), x.exp()
        c = x.exp() + 1
        a.numpy()[0] = 7
        return a.tolist()[0], b.tolist()[0], c.tolist()[0]

    results = _repeat(step)
    assert set(results) == {(7.0, 2.7182817459106445, 3.7182817459106445)}


def test_what_is_overwritten_is_not_what_another_reads():
    x = torch.tensor([1.0, 2.0])

    def step():
        a, b = x * x, x * x
        a.add_(b)
        b.mul_(a)
        return a.tolist(), b.tolist()

    assert _repeat(step) == [([2.0, 8.0], [2.0, 32.0])] * 4


def test_numbers_of_a_run_keep_calls_apart():
    x, k = torch.tensor([1.0, 2.0], requires_grad=True), [1.0, 2.0, 1.0, 3.0]
    assert _repeat(lambda: ((x * k.pop()).exp() - (x * 1.0).exp()).detach().abs().sum().item() > 0) == [True, False, True, False]
