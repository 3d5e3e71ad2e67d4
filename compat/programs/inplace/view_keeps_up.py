# A view's grad_fn is renewed after its base was written in place.
import torch

x = torch.ones(4, requires_grad=True)
y = x * 2
v = y[:2]
print(v.grad_fn.name(), y.grad_fn.name())
y.mul_(3)
print(v.grad_fn.name(), y.grad_fn.name(), v)
v.mul_(5)
print(v.grad_fn.name(), y.grad_fn.name(), y)
(v.sum() + y.sum()).backward()
print(x.grad)

x.grad = None
z = torch.zeros(2, 2)
row = z[0]
row.copy_(x[:2])
print(z.requires_grad, row.requires_grad, z.grad_fn.name(), row.grad_fn.name())
z.sum().backward()
print(x.grad)

x.grad = None
a = x.clone()
b = a.view(2, 2)
c = b[1]
c += 10
b[:, 0] *= 2
a[3] = 0
(a.sum() + b.prod() + c.sum()).backward()
print(x.grad, a, b, c)
