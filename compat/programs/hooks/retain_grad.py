# retain_grad on intermediates, with hooks, in-place ops and repeated backward.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
y.retain_grad()
z = (y ** 2).sum()
z.backward(retain_graph=True)
print(y.grad, x.grad, y.retains_grad, x.retains_grad, y.is_leaf)
z.backward()
print(y.grad, x.grad)
a = x * 2
a.register_hook(lambda g: g * 100)
a.retain_grad()
a.sum().backward()
print(a.grad)
b = x * 2
b.retain_grad()
b.mul_(5)
b.sum().backward()
print(b.grad)
try:
    torch.ones(1).retain_grad()
except RuntimeError as e:
    print(e)
x.retain_grad()
c = x.exp()
c.retain_grad()
d = c[0] * 2
d.retain_grad()
d.backward()
print(c.grad, d.grad)
