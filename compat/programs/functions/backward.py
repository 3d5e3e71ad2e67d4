# backward() into leaves, views written in place, accumulated twice.
import torch


def inputs():
    return torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([2.0, 3.0])


def compute(a, b):
    a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
    for _ in range(2):
        y = a * 2
        y[:2].mul_(b)
        y.view(2, 2)[1].add_(b)
        y[3] = b[0] * a[0]
        y.prod().backward()
    return a.grad, b.grad


print(compute(*inputs()))
