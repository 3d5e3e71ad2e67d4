# In-place writes through views inside a function.
import torch


def inputs():
    return (torch.arange(12.0).reshape(3, 4),)


def compute(x):
    y = x.clone()
    y[1:, ::2] *= 3
    y.t()[0] += 10
    y[0].zero_()
    y.view(-1)[5:7] = torch.tensor([-1.0, -2.0])
    y[:, 3] = y[:, 0]
    y.diagonal().add_(100)
    y[y > 50] = 0.5
    y[[0, 2], [1, 1]] = 7
    return y, y.sum(), y[1:].t()


print(compute(*inputs()))
