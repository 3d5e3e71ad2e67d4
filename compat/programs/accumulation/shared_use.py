# One leaf used along several paths, a leaf used twice in one op, and a diamond.
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x * x + x
z = y * y + x
z.backward()
print(x.grad)

a = torch.tensor([1.0, -2.0], requires_grad=True)
b = a * 2
c = b + b
d = b * c
d.sum().backward()
print(a.grad)

w = torch.ones(2, 2, requires_grad=True)
h = torch.arange(4.0).reshape(2, 2)
for _ in range(3):
    h = h @ w
h.sum().backward()
print(w.grad)
