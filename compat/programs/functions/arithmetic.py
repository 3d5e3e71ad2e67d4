# Pure functions of tensors; they may also be called inside a transformation.
import torch


def inputs():
    return torch.arange(6.0).reshape(2, 3) / 5, torch.tensor([1.0, -2.0, 0.5])


def compute(a, b):
    c = a * b + 2 * a - b / 3
    return c, (c ** 2).sum(0), c.exp().mean(), torch.where(c > 0, c, -c), c.clamp(-0.5, 0.5), c.sin() * c.cos() + c.tanh()


print(compute(*inputs()))
