"""Protects gradients that depend on no operand but have a history in torch, where a kernel is given one: it leads to zeros."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


@pytest.mark.parametrize("name, f", [
    ("AvgPool2DBackwardBackward0", lambda x: F.avg_pool2d(x, 2)),
    ("MaxPool2DWithIndicesBackwardBackward0", lambda x: F.max_pool2d(x, 2)),
    ("AdaptiveAvgPool2DBackwardBackward0", lambda x: F.adaptive_avg_pool2d(x, 3)),
    ("ReflectionPad2DBackwardBackward0", lambda x: F.pad(x, (1, 1, 1, 1), "reflect")),
])
def test_pools_and_paddings(name, f):
    x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert g.requires_grad and g.grad_fn.name() == name
    second, = torch.autograd.grad(g.sum(), x)
    assert second.shape == x.shape and not second.any()


def test_gradients_of_nothing():
    x = torch.ones(0, 3, 3, requires_grad=True)
    for f in (torch.linalg.inv, F.softplus, torch.linalg.qr):
        made = f(x)
        g, = torch.autograd.grad((made if isinstance(made, torch.Tensor) else made[0]).sum(), x, create_graph=True)
        assert g.requires_grad and torch.autograd.grad(g.sum(), x)[0].shape == x.shape


def test_one_kernel_gives_all_gradients_a_history():
    x, w, b = torch.rand(2, 3, 4), torch.ones(3, 3, 2, requires_grad=True), torch.ones(3, requires_grad=True)
    out = F.conv1d(x, w, b)
    gw, gb = torch.autograd.grad(out, (w, b), torch.ones_like(out), create_graph=True)
    assert gw.requires_grad and gb.requires_grad and torch.autograd.grad(gw.sum() + gb.sum(), w, allow_unused=True) == (None,)
    v = torch.ones(4, requires_grad=True)
    out = F.linear(x, torch.ones(4, 4), v)
    assert not torch.autograd.grad(out, v, torch.ones_like(out), create_graph=True)[0].requires_grad


def test_linear_operators_have_none():
    x = torch.ones(3, requires_grad=True)
    for f in (torch.neg, lambda x: x + 1, lambda x: x.reshape(3, 1), lambda x: x.cumsum(0)):
        g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        assert not g.requires_grad


def test_a_penalty_on_a_constant_gradient_adds_nothing():
    x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
    y = F.avg_pool2d(x, 2)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    ((g * g).sum() + y.sum()).backward()
    assert torch.equal(x.grad, torch.full_like(x, 0.25))
