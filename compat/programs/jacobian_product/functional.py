# autograd.functional.vjp, jvp, hvp, vhp.
import torch
from torch.autograd import functional as AF

x = torch.tensor([[0.5, 1.0], [1.5, 2.0]])


def reducer(t):
    return t.exp().sum(dim=1)


print(AF.vjp(reducer, x, torch.tensor([1.0, 2.0])))
print(AF.jvp(reducer, x, torch.ones(2, 2)))


def cubes(t):
    return t.pow(3).sum()


print(AF.hvp(cubes, x, torch.ones(2, 2)))
print(AF.vhp(cubes, x, torch.ones(2, 2)))


def two(a, b):
    return 2 * a + 3 * b, a * b


print(AF.vjp(two, (torch.ones(2), torch.full((2,), 5.0)), (torch.ones(2), torch.ones(2))))
print(AF.vjp(cubes, x, create_graph=True))
