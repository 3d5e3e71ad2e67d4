"""Protects parametrized parameters: values, assignment, state dicts, removal; orthogonal, weight and spectral norm do what they say."""
import copy
import pickle

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, a):
        return a.triu()


def test_a_parametrized_weight_is_computed_assigned_and_removed():
    m = nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", Symmetric())
    assert type(m).__name__ == "ParametrizedLinear" and list(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert torch.equal(m.weight, m.weight.T)
    m.weight = torch.arange(9.0).view(3, 3)
    assert m.weight[1].tolist() == [1.0, 4.0, 5.0]
    assert torch.equal(copy.deepcopy(m).weight, m.weight)
    with parametrize.cached():
        assert m.weight is m.weight
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(m)
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and m.weight.requires_grad and m.weight[1].tolist() == [1.0, 4.0, 5.0]


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_orthogonal(how, shape):
    m = parametrizations.orthogonal(nn.Linear(shape[1], shape[0]), orthogonal_map=how)
    q = m.weight if shape[0] >= shape[1] else m.weight.T
    assert torch.allclose(q.T @ q, torch.eye(min(shape)), atol=1e-5)
    m.weight.sum().backward()
    assert m.parametrizations.weight.original.grad.isfinite().all()


@pytest.mark.parametrize("layer, dim", [(lambda: nn.Linear(3, 2), 0), (lambda: nn.Conv1d(2, 3, 2), 1), (lambda: nn.Linear(3, 2), None)])
def test_weight_norm_keeps_the_weight_until_its_length_changes(layer, dim):
    m = layer()
    before = m.weight.detach().clone()
    parametrizations.weight_norm(m, dim=dim)
    assert torch.allclose(m.weight, before)
    with torch.no_grad():
        m.parametrizations.weight.original0.mul_(2)
    assert torch.allclose(m.weight, 2 * before)
    with pytest.warns(FutureWarning):
        n = nn.utils.weight_norm(layer(), dim=dim)
    m.load_state_dict(n.state_dict())              # the old names are taken
    assert torch.allclose(m.weight, n.weight)
    nn.utils.remove_weight_norm(n)
    assert list(n.state_dict()) == ["bias", "weight"]


def test_spectral_norm_divides_by_the_largest_singular_value():
    torch.manual_seed(0)                       # how soon the iteration is there depends on the weight
    m, n = parametrizations.spectral_norm(nn.Linear(3, 2)), nn.utils.spectral_norm(nn.Linear(3, 2))
    for _ in range(30):
        m(torch.ones(1, 3)), n(torch.ones(1, 3))
    for weight in (m.weight, n.weight):
        assert abs(torch.linalg.matrix_norm(weight, 2).item() - 1) < 1e-4
    assert list(n.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    n.load_state_dict(n.state_dict())
    nn.utils.remove_spectral_norm(n)
    assert list(n.state_dict()) == ["bias", "weight"] and not n._forward_pre_hooks


def test_shapes_may_not_change():
    class Half(nn.Module):
        def forward(self, x):
            return x[:1]
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Half())
