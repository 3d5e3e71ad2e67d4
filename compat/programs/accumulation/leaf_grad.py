# A leaf's .grad adds up over backward calls and stays the same object.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
print(x.grad)
(x * x).sum().backward()
first = x.grad
print(x.grad, x.grad.requires_grad, x.grad.grad_fn)
(x * 3).sum().backward()
print(x.grad, x.grad is first, first)
x.grad.zero_()
print(x.grad, first)
(x ** 3).sum().backward()
print(x.grad)
x.grad = None
(x ** 3).sum().backward()
print(x.grad, x.grad is first)
print(first)
