# Promotion and casts.
import torch


def inputs():
    return torch.tensor([1, -2, 3]), torch.tensor([0.5, 1.5, -2.5]), torch.tensor([True, False, True])


def compute(i, f, b):
    return i + f, i * 2, i / 2, i // 2, i % 2, f.long() + i, b * i, b + b, f > i, (f.double() * i), f.half() + 1, f.bfloat16() * f, i ** 2, i.float().mean(), b.sum(), i.sum(), ~b, i & 1, -i, f.round()


print(compute(*inputs()))
