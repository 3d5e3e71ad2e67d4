# CopySlices: gradients through in-place writes into views.
import torch

x = torch.arange(4.0).requires_grad_()
y = x * 1
y[0:2].mul_(3)
print(y.grad_fn.name(), y)
y.sum().backward()
print(x.grad)

x.grad = None
y = x * 2
v = y.view(2, 2)
v.mul_(3)
print(y.grad_fn.name(), v.grad_fn.name())
(y * torch.arange(4.0)).sum().backward()
print(x.grad)

x.grad = None
y = x * 2
t = y.view(2, 2).t()[1]
t.copy_(x[:2] * 10)
y.sum().backward()
print(x.grad, y)

x.grad = None
base = torch.zeros(3, 4)
base[1] = x
base[:, 2] = x[:3] * 5
print(base.requires_grad, base.grad_fn.name())
(base * torch.arange(12.0).reshape(3, 4)).sum().backward()
print(x.grad)

x.grad = None
y = x * 4
w = y[1:3]
y.mul_(2)
w.add_(1)
w.sum().backward()
print(x.grad)
