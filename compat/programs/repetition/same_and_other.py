# One tensor twice, two tensors, operands swapped, equal numbers in two places.
import torch


def f(a, b, s, t):
    c = a - b * s
    return (c / (b + t)).sum()


x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
for a, b in ((x, y), (y, x), (x, x), (y, y), (x, y)):
    for s, t in ((2.0, 2.0), (2.0, 3.0), (3.0, 2.0)):
        print(f(a, b, s, t))
v = x[:1]
for a in (x[:1], v, x[1:], torch.ones(1)):
    b = x * 1
    b[:1] += a
    print(b, (a + v).item())
p = torch.ones(2, requires_grad=True)
for left, right in ((p, p), (p, p.detach()), (p.detach(), p)):
    p.grad = None
    (left * right * left).sum().backward()
    print(p.grad)
