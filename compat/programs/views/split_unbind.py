# Multi-output views and their gradients.
import torch

x = torch.arange(10.0, requires_grad=True)
parts = x.split([2, 3, 5])
print([p.shape for p in parts], [type(p.grad_fn).__name__ for p in parts])
(parts[0].sum() * 2 + parts[2].prod()).backward()
print(x.grad)
x.grad = None
a, b = x.view(2, 5).unbind()
(a * b).sum().backward()
print(x.grad)
print([t.tolist() for t in torch.arange(7).chunk(3)], [t.tolist() for t in torch.arange(7).split(3)])
print([t.shape for t in torch.zeros(4, 6).tensor_split(4, dim=1)])
print([t.shape for t in torch.zeros(3, 2).unbind(-1)])
y = x * 1
first, second = y.unbind() [:2]
try:
    first.mul_(2)
except RuntimeError as e:
    print(e)
p = y.split(5)[0]
try:
    p.zero_()
except RuntimeError as e:
    print(e)
