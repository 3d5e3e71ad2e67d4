# autograd.functional.jacobian: one and several inputs and outputs, create_graph, strict, vectorize.
import torch
from torch.autograd.functional import jacobian

x = torch.tensor([[0.5, 1.0], [1.5, 2.0]])


def reducer(t):
    return t.exp().sum(dim=1)


print(jacobian(reducer, x))
print(jacobian(reducer, x, vectorize=True))
print(jacobian(reducer, x, strategy="forward-mode", vectorize=True))
j = jacobian(reducer, x.clone().requires_grad_(), create_graph=True)
print(j.requires_grad)


def adder(a, b):
    return 2 * a.exp() + 3 * b


print(jacobian(adder, (torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))))
print(jacobian(lambda t: (t * 2, t.sum()), torch.tensor([1.0, 2.0])))
print(jacobian(lambda t: t.sum(), torch.tensor([1.0, 2.0])))
print(jacobian(lambda t: t * t, torch.tensor(3.0)))
print(jacobian(lambda a, b: a * 2, (torch.ones(2), torch.ones(1))))
try:
    jacobian(lambda a: torch.ones(2), torch.ones(2), strict=True)
except RuntimeError as e:
    print(e)
