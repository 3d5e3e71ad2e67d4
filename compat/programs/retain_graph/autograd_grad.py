# torch.autograd.grad frees the graph too, unless told otherwise.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = (x ** 2).sum()
print(torch.autograd.grad(y, x, retain_graph=True))
print(torch.autograd.grad(y, x))
try:
    torch.autograd.grad(y, x)
except RuntimeError as e:
    print(e)
print(x.grad)
