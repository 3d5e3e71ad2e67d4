# Gradients through in-place ops on non-leaves.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y.add_(1)
y.mul_(x)
print(y.grad_fn.name(), y.is_leaf)
y.sum().backward()
print(x.grad)

x.grad = None
z = x + 0
z.zero_()
print(z, z.grad_fn.name())
z += x * 3
z.sum().backward()
print(x.grad)

x.grad = None
y = x * 2
y[0] = 0
y.sum().backward()
print(x.grad, y.grad_fn.name())

new = torch.zeros(3)
new.copy_(x)
new += x
print(new.requires_grad, new.grad_fn.name())
(new ** 2).sum().backward()
print(x.grad)

acc = torch.zeros(2)
acc += torch.ones(2, requires_grad=True)
print(acc.requires_grad, acc)
