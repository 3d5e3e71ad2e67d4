"""Random in-place fills and the graph: refused on leaves, and nothing of the gradient is left behind them (torch 2.13)."""
import pytest

import torchshim as torch

FILLS = {"normal_": ((), "NormalBackward0"), "uniform_": ((), "UniformBackward0"), "exponential_": ((), "ExponentialBackward0"),
         "bernoulli_": ((0.5,), "BernoulliBackward2"), "random_": ((5,), "RandomBackward1"), "log_normal_": ((), "LogNormalBackward0"),
         "cauchy_": ((), "CauchyBackward0"), "geometric_": ((0.5,), "GeometricBackward0")}


@pytest.mark.parametrize("name", FILLS)
def test_fills_take_part_in_the_graph(name):
    args, grad_fn = FILLS[name]
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation.$"):
        getattr(torch.ones(3, requires_grad=True), name)(*args)
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    getattr(y, name)(*args)
    assert y.requires_grad and y.grad_fn.name() == grad_fn
    (y * 3).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]


def test_a_fill_of_a_view_leaves_the_rest_of_its_base_its_gradient():
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    v = y[:2]
    v.uniform_()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [0, 0, 6, 6] and v.grad_fn.name() == "AsStridedBackward0"


def test_a_tensor_without_dimensions_is_a_number_beside_a_size():
    """normal(tensor(0.), tensor(1.), (4,)) draws four numbers, not one; a tensor with dimensions, or one that wants a gradient,
    is refused there."""
    torch.manual_seed(0)
    a = torch.normal(torch.tensor(0.0), torch.tensor(2.0), (4,))
    torch.manual_seed(0)
    assert torch.equal(a, torch.normal(0.0, 2.0, (4,)))
    for mean, size in ((torch.zeros(2), (4,)), (torch.zeros((), requires_grad=True), (4,)), (0.0, None)):
        with pytest.raises(TypeError, match=r"normal\(\) received an invalid combination of arguments - got "):
            torch.normal(mean, 1.0, *([] if size is None else [size]))
