# autograd.functional.hessian.
import torch
from torch.autograd.functional import hessian

x = torch.tensor([[0.5, 1.0], [1.5, 2.0]])
print(hessian(lambda t: t.pow(3).sum(), x))
print(hessian(lambda a, b: (a * b * b).sum(), (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))))
print(hessian(lambda t: (t[0] * t[1] ** 2).sin(), torch.tensor([0.5, 1.5])))
print(hessian(lambda t: t.sum(), torch.ones(2)))
print(hessian(lambda t: t.pow(3).sum(), torch.ones(2), vectorize=True))
try:
    hessian(lambda t: t * 2, torch.ones(2))
except RuntimeError as e:
    print(e)
