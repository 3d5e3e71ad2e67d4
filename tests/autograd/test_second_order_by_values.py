"""Gradients that have none themselves, by what they are computed from."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("f, source", [("scatter_reduce", "src"), ("index_reduce", "source")])
@pytest.mark.parametrize("values, index, refused", [([0.0, 0.0], [0, 0], True), ([0.0, 2.0], [0, 0], False), ([0.0, 0.0], [0, 1], False)])
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_several_zeros_in_a_product(f, source, values, index, refused):
    """torch has no second derivative of a product where two of its factors are zeros, and says so when one is asked for."""
    x, v = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor(values, requires_grad=True)
    made = getattr(torch, f)(x, 0, torch.tensor(index), v, "prod")
    by_x, by_v = torch.autograd.grad((made * made).sum(), (x, v), create_graph=True)
    torch.autograd.grad(by_x.sum(), x, retain_graph=True)
    if refused:
        assert type(by_v.grad_fn).__name__ == "Error"
        with pytest.raises(RuntimeError, match=rf"{f}\(\): Double backward is unsupported for {source} when >1 zeros in {source} are scat"):
            torch.autograd.grad(by_v.sum(), v)
    else:
        torch.autograd.grad(by_v.sum(), v)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_have_no_second_derivative(mode):
    """Nor has torch one of bags of embeddings."""
    w = torch.ones(3, 2, requires_grad=True)
    out = torch.nn.functional.embedding_bag(torch.tensor([[0, 1, 2]]), w, mode=mode)
    g, = torch.autograd.grad(out.square().sum(), w, create_graph=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_embedding_bag_backward' is not implemented"):
        torch.autograd.grad(g.sum(), w)


@pytest.mark.parametrize("shape, how", [((1,), ()), ((1, 1), ()), ((1,), (0,)), ((2, 1), (1,)), ((2, 1), (-1, True))])
def test_the_gradient_of_a_product_of_one_zero_is_what_came_in(shape, how):
    """With the history of that, or none; of another factor it is the product divided by that."""
    for value, passed in ((0.0, True), (2.0, False)):
        x = torch.full(shape, value, requires_grad=True)
        g, = torch.autograd.grad(x.prod(*how).sum(), x, create_graph=True)
        assert g.requires_grad is not passed and (g == 1).all()
        v = torch.ones_like(x.prod(*how), requires_grad=True)
        g, = torch.autograd.grad(x.prod(*how), x, v, create_graph=True)
        by_x, by_v = torch.autograd.grad(g.sum(), (x, v), allow_unused=True)
        assert (by_x is None) is passed and (by_v == 1).all()
