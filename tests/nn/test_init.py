"""Protects torch.nn.init: the very numbers that PyTorch 2.13 draws for a seed, and its errors."""
import pytest

import torchshim as torch
from torchshim import nn


def drawn(name, shape=(2, 2), **options):
    torch.manual_seed(0)
    return getattr(nn.init, name)(torch.empty(shape), **options).tolist()


@pytest.mark.parametrize("name, options, expected", [
    ("xavier_uniform_", {}, [[-0.009169445373117924, 0.657006561756134], [-1.0080204010009766, -0.9013375639915466]]),
    ("xavier_normal_", {}, [[1.0896488428115845, -0.20748557150363922], [-1.5406367778778076, 0.40194159746170044]]),
    ("kaiming_normal_", {"nonlinearity": "relu"}, [[1.5409960746765137, -0.293428897857666], [-2.1787893772125244, 0.5684312582015991]]),
    ("kaiming_uniform_", {"mode": "fan_out"}, [[-0.012967552989721298, 0.9291475415229797], [-1.425555944442749, -1.2746837139129639]]),
    ("trunc_normal_", {}, [[1.5409960746765137, -0.293428897857666], [0.40334683656692505, 0.5684312582015991]]),
])
def test_draws(name, options, expected):
    assert drawn(name, **options) == expected


def test_truncation_far_from_the_mean():
    with pytest.warns(UserWarning, match="mean is more than 2 std"):
        assert drawn("trunc_normal_", a=2.5, b=3) == [[2.7481284141540527, 2.816153049468994], [2.544238805770874, 2.7008585929870605]]


def test_sparse_orthogonal_dirac():
    assert drawn("sparse_", (3, 2), sparsity=0.4) == [[0.0, 0.0], [-0.021787893027067184, 0.0], [0.0, -0.013985954225063324]]
    q = torch.tensor(drawn("orthogonal_", (2, 3)))
    want = torch.tensor([[0.5739809274673462, -0.10929460823535919, -0.8115421533584595],
                         [-0.3454151153564453, -0.9308826923370361, -0.11893554031848907]])
    assert torch.allclose(q, want, atol=2e-6)
    assert nn.init.dirac_(torch.empty(2, 2, 3)).tolist() == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]]


def test_default_parameters():
    torch.manual_seed(0)
    assert nn.Linear(2, 2).weight.tolist() == [[-0.005293981172144413, 0.37932288646698], [-0.5819807648658752, -0.5203874707221985]]
    torch.manual_seed(0)
    assert nn.Embedding(2, 2, padding_idx=0).weight.tolist() == [[0.0, 0.0], [-2.1787893772125244, 0.5684312582015991]]


@pytest.mark.parametrize("make", [lambda: nn.Linear(0, 3), lambda: nn.Conv1d(0, 3, 1), lambda: nn.Conv2d(0, 3, 3)])
def test_a_bias_without_inputs_draws_its_numbers(make):
    """A layer of no channels has a bias of zeros, and the layers made after it the numbers that torch gives them."""
    torch.manual_seed(0)
    assert make().bias.abs().tolist() == [0, 0, 0]
    assert torch.rand(1).tolist() == [0.13203048706054688]


def test_a_convolution_in_another_memory_format_starts_as_one_in_the_usual():
    torch.manual_seed(0)
    usual = nn.Conv2d(3, 4, 3)
    other = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    torch.manual_seed(0)
    other.reset_parameters()
    assert other.weight.stride() == (27, 1, 9, 3) and torch.equal(other.weight, usual.weight) and torch.equal(other.bias, usual.bias)


def test_errors():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(torch.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity nope"):
        nn.init.calculate_gain("nope")
    with pytest.raises(ValueError, match="Mode sum not supported"):
        nn.init.kaiming_uniform_(torch.empty(2, 2), mode="sum")
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx(1.3867504905630728)
