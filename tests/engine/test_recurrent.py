"""An LSTM layer interpreted: its backward takes what its forward made, where that is small, and gives the same bits where it cannot."""
import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.interpret import recurrent


@pytest.fixture
def runs(monkeypatch):
    """The runs over time: one for each entry."""
    made, run = [], recurrent.Lstm._run
    monkeypatch.setattr(recurrent.Lstm, "_run", lambda self, *args, **more: made.append(1) or run(self, *args, **more))
    recurrent._kept.entries.clear()
    yield made
    recurrent._kept.entries.clear()


def gradients(model, x, retain=False):
    out, (h, c) = model(x)
    loss = (out * out).sum() + h.sum() + c.sum()
    grads = [g.tolist() for g in torch.autograd.grad(loss, [x, *model.parameters()], retain_graph=retain)]
    if retain:
        assert grads == [g.tolist() for g in torch.autograd.grad(loss, [x, *model.parameters()])]
    return grads


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_backward_takes_the_gates_that_the_forward_made(runs, bidirectional):
    torch.manual_seed(0)
    model, x = torch.nn.LSTM(3, 4, 2, bidirectional=bidirectional), torch.randn(5, 2, 3, requires_grad=True)
    layers = 4 if bidirectional else 2
    first = gradients(model, x)
    assert len(runs) == layers and not recurrent._kept.entries
    again = gradients(model, x, retain=True)       # the second backward runs anew
    assert first == again and len(runs) == 3 * layers


def test_what_is_large_is_not_kept(runs, monkeypatch):
    monkeypatch.setattr(recurrent, "_MOST", 10_000)
    model, x = torch.nn.LSTM(8, 80), torch.randn(3, 2, 8, requires_grad=True)       # 13,440 bytes of states and gates
    gradients(model, x)
    assert len(runs) == 2 and not recurrent._kept.entries


def test_forwards_without_a_backward_are_forgotten(runs):
    model = torch.nn.LSTM(3, 4)
    with torch.no_grad():
        for _ in range(3 * recurrent._kept.count):
            model(torch.randn(2, 1, 3))[0].tolist()
    assert len(recurrent._kept.entries) <= recurrent._kept.count


def test_both_biases_have_one_gradient_and_memory_of_their_own(runs):
    model, x = torch.nn.LSTM(3, 4), torch.randn(5, 2, 3)
    model(x)[0].sum().backward()
    a, b = model.bias_ih_l0.grad, model.bias_hh_l0.grad
    before = b.tolist()
    assert np.array_equal(a.numpy(), b.numpy())
    a.mul_(2)
    a.numpy()[0] = 7
    assert b.tolist() == before and a[0].item() == 7
