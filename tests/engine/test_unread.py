"""What nobody reads is not made by a compiled program, and is right when somebody asks for it all the same."""
import gc
import weakref

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine import context, unread
from torchshim.engine.compile import cost, policy
from torchshim.engine.record import trie


@pytest.fixture(autouse=True)
def third_time(monkeypatch):
    """A trace is compiled when it is met for the third time, after the second was watched."""
    monkeypatch.setattr(cost, "repetitions", lambda saved, price: 3)
    monkeypatch.setattr(policy, "tier", "auto")
    monkeypatch.setattr(unread, "FEWEST", 1)


class Net:
    """Two layers and their optimizer, from the same numbers each time."""

    def __init__(self, **options):
        torch.manual_seed(3)
        self.params = [torch.randn(5, 4).requires_grad_(), torch.randn(3, 5).requires_grad_()]
        self.optimizer = torch.optim.SGD(self.params, lr=0.1, momentum=0.9, **options)
        self.x = torch.randn(6, 4)

    def step(self):
        self.hidden = (self.x @ self.params[0].t()).tanh()
        self.loss = (self.hidden @ self.params[1].t()).square().mean()
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()


def outputs():
    """Of each program that was compiled for the net, how many arrays it makes."""
    return [len(p.live) for st in trie.states() for p in st.programs or () if st.n_ops > 8]


def truth(steps, monkeypatch):
    """The nets' values after each step, operator by operator: (loss, hidden, gradients)."""
    with monkeypatch.context() as m:
        m.setattr(policy, "tier", "operators")
        net, seen = Net(), []
        for _ in range(steps):
            net.step()
            seen.append([t.detach().numpy().copy() for t in (net.loss, net.hidden, net.params[0].grad, net.params[1].grad)])
        return seen, [p.detach().numpy().copy() for p in net.params]


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), b, rtol=2e-5, atol=1e-6)


def test_a_program_makes_neither_gradients_nor_locals(monkeypatch):
    expected, last = truth(8, monkeypatch)
    trie.clear()
    context.trace.flush()
    net = Net()
    for k in range(8):
        net.step()
        close(net.loss.item(), expected[k][0])
    assert outputs() == [5]                    # the loss, two parameters, their momentum
    for p, q in zip(net.params, last):
        close(p.detach().numpy(), q)


@pytest.mark.parametrize("first", [3, 4, 7])
def test_what_is_asked_for_late_is_computed(first, monkeypatch):
    expected, last = truth(9, monkeypatch)
    net = Net()
    for k in range(9):
        net.step()
        net.loss.item()
        if k >= first:
            for t, e in zip((net.hidden, net.params[0].grad, net.params[1].grad), expected[k][1:]):
                close(t.detach().numpy(), e)
                close((t + 1).detach().numpy(), e + 1)
    for p, q in zip(net.params, last):
        close(p.detach().numpy(), q)


def test_asked_for_often_it_is_made_with_the_others(monkeypatch):
    trie.clear()
    net = Net()
    for k in range(14):
        net.step()
        net.loss.item()
        if k > 5:
            net.params[0].grad.sum().item()
    assert sorted(outputs()) == [5, 6]


def test_gradients_that_are_added_to_are_results(monkeypatch):
    """Without zero_grad each step reads the gradients of the one before."""
    def run():
        net = Net()
        net.optimizer.zero_grad = lambda: None
        for _ in range(8):
            net.step()
            net.loss.item()
        return [p.detach().numpy().copy() for p in net.params] + [p.grad.numpy().copy() for p in net.params]
    found = run()
    with monkeypatch.context() as m:
        m.setattr(policy, "tier", "operators")
        for a, b in zip(found, run()):
            close(a, b)


def test_kept_values_do_not_keep_what_they_were_computed_from(monkeypatch):
    """Losses that are put in a list from some step on: each holds its number, not the parameters of its step."""
    expected, _ = truth(12, monkeypatch)
    net, kept, old = Net(), [], []
    for k in range(12):
        net.step()
        old.append(weakref.ref(net.params[0]._ts_st.value))
        if k > 5:
            kept.append(net.hidden.detach())
    gc.collect()
    assert sum([r() is not None for r in old]) <= 3
    for k, h in enumerate(kept, 6):
        close(h.numpy(), expected[k][1])


def test_what_lives_until_the_next_turn_is_a_result():
    trie.clear()
    net, kept = Net(), None
    for _ in range(8):
        net.step()
        kept = net.hidden.detach()
    assert kept is not None and len(outputs()) == 1


def test_a_failed_check_withholds_what_was_left_out():
    """An index out of range in a trace whose values are left for later raises its error there, too."""
    table = torch.arange(12.0).reshape(6, 2)

    def turn(n):
        places = torch.tensor([1, 2]) * n
        rows = table[places]
        double = rows * 2
        return rows, double, (double + 1).sum()
    for _ in range(6):
        rows, double, total = turn(2)
        assert total.item() == 2 * (4 + 5 + 8 + 9) + 4
    with pytest.raises(IndexError):
        rows, double, total = turn(3)
        total.item()
    rows, double, total = turn(1)
    assert total.item() == 2 * (2 + 3 + 4 + 5) + 4 and double.tolist() == [[4, 6], [8, 10]]


def test_a_loop_in_which_nothing_is_read_is_computed():
    """Where nothing of a trace is read it is made as before: there is nothing to wait for."""
    trie.clear()
    x = torch.ones(4)
    for _ in range(6):
        y = x * 2 + 1
        z = y * 3
        context.trace.flush()
    assert z.tolist() == [9.0] * 4 and y.tolist() == [3.0] * 4
