# autograd.grad inside a function.
import torch


def inputs():
    return torch.tensor([0.5, 1.0, -1.0]), torch.tensor([[0.5, -1.0], [0.25, 0.0], [1.0, 1.5]])


def compute(x, w):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    y = torch.tanh(x @ w).sum() + (x ** 3).prod()
    gx, gw = torch.autograd.grad(y, (x, w), create_graph=True)
    (hx,) = torch.autograd.grad(gx.pow(2).sum(), x)
    return y.detach(), gx.detach(), gw.detach(), hx


print(compute(*inputs()))
