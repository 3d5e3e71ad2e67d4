# Reading and writing the same memory.
import torch

x = torch.arange(5.0)
try:
    x[1:] += x[:-1]
    print(x)
except RuntimeError as e:
    print(e)
try:
    x[1:].copy_(x[:-1])
    print(x)
except RuntimeError as e:
    print(e)
y = torch.arange(3.0)
y.add_(y)
print(y)
y.mul_(y.flip(0))
print(y)
m = torch.arange(4.0).reshape(2, 2)
try:
    m.copy_(m.t())
    print(m)
except RuntimeError as e:
    print(e)
e = torch.zeros(1).expand(3)
for f in (lambda: e.fill_(1), lambda: e.copy_(torch.ones(3)), lambda: e.__setitem__(0, 4.0), lambda: e.mul_(2)):
    try:
        print(f())
    except RuntimeError as err:
        print(err)
print(e)
