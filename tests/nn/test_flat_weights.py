"""A recurrent network computes with the tensors that a library puts in `_flat_weights`, as torch's does (expectations from torch 2.13)."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("kind", [torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU])
def test_what_is_put_there_is_computed_with(kind):
    m, x = kind(3, 4), torch.ones(2, 1, 3)
    plain = m(x)[0]
    m._flat_weights = [p * 1 for p in m.parameters()]          # as higher and other meta-learning libraries do
    y = m(x)[0]
    assert torch.equal(y, plain)
    y.sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m._flat_weights = [torch.zeros_like(p) for p in m.parameters()]
    assert m(x)[0].abs().sum().item() == 0
    assert m.all_weights[0][0] is m.weight_ih_l0


def test_a_parameter_that_is_set_later_is_taken():
    m, x = torch.nn.LSTM(3, 4), torch.ones(2, 1, 3)
    m._flat_weights = [torch.zeros_like(p) for p in m.parameters()]
    m.bias_ih_l0 = torch.nn.Parameter(torch.ones(16))
    assert m._flat_weights[2] is m.bias_ih_l0 and m(x)[0].abs().sum().item() > 0


def test_a_conversion_takes_the_parameters_again():
    m = torch.nn.GRU(3, 4)
    m._flat_weights = [torch.zeros_like(p) for p in m.parameters()]
    m.double()
    assert m._flat_weights[0] is m.weight_ih_l0 and m._flat_weights[0].dtype == torch.float64
