"""The histories of gradients: what names their nodes, and which of them are what came in."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


@pytest.mark.parametrize("f, name", [
    (torch.sigmoid, "SigmoidBackwardBackward0"), (torch.relu, "ThresholdBackwardBackward0"), (torch.neg, "NegBackward0"),
    (lambda x: x.softmax(1), "SoftmaxBackwardDataBackward0"), (F.celu, "EluBackwardBackward0"), (lambda x: x.t(), "TBackward0"),
    (lambda x: F.mse_loss(x, torch.zeros(2, 2)), "MseLossBackwardBackward0"), (lambda x: x[0], "SelectBackwardBackward0"),
    (lambda x: x.unsqueeze(0), "SqueezeBackward1"), (torch.exp, "MulBackward0"), (lambda x: x.view(4), "ViewBackward0")])
def test_the_node_of_a_gradient_is_that_of_its_formula(f, name):
    x = torch.rand(2, 2, requires_grad=True)
    y = f(x)
    g, = torch.autograd.grad(y, x, torch.ones_like(y).requires_grad_(), create_graph=True)
    assert g.grad_fn.name() == name


@pytest.mark.parametrize("f", [lambda x: x + 1, lambda x: x.sub(torch.ones(3)), lambda x: x.clone(), lambda x: x.add(1, alpha=2)])
def test_a_gradient_that_is_what_came_in_is_that_tensor(f):
    x = torch.rand(3, requires_grad=True)
    w = torch.ones(3, requires_grad=True)
    g, = torch.autograd.grad(f(x), x, w, create_graph=True)
    assert g is w


def test_a_write_through_a_view_and_the_gradient_of_its_gradient():
    x = torch.ones(2, 3, requires_grad=True)
    seen = (x + 1).view_as(x)
    F.threshold(seen, 0.0, 0.0, True)
    g, = torch.autograd.grad(torch.sigmoid(seen).sum(), x, create_graph=True)
    put = g.sum().grad_fn.next_functions[0][0]
    assert put.name() == "torch::autograd::CopySlices" and put.next_functions[1][0].name() == "ThresholdBackwardBackward0"


def test_set_begins_anew():
    x = torch.rand(2, requires_grad=True)
    before = torch.autograd.graph.get_gradient_edge(x)
    y = x.clone()
    with torch.no_grad():
        x.set_(torch.rand(2))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        torch.autograd.grad(y.sum(), x)
    assert torch.autograd.grad(y.sum(), before)[0].tolist() == [1.0, 1.0]
    x.clone().sum().backward()
    y = x.clone()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_first_gradients_lie_as_their_leaf():
    x = torch.ones(2, 3, requires_grad=True)
    x.backward(torch.ones(1).expand(2, 3))
    assert x.grad.stride() == (3, 1)
    y = torch.ones(2, 3).t().requires_grad_()
    y.backward(torch.ones(3, 2))
    assert y.grad.stride() == (1, 3)
