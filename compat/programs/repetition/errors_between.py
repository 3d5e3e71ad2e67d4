# An exception in the middle of a step leaves everything usable and the next step right.
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
for i in range(4):
    try:
        h = w * (i + 1)
        if i == 1:
            h + torch.ones(3)
        if i == 2:
            raise KeyError("user")
        h.sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    except (RuntimeError, KeyError) as e:
        print(i, type(e).__name__, e)
    print(i, w, h)
v = torch.zeros(3)
v[0] = 5
try:
    v[torch.tensor([7])] = 1.0
except IndexError as e:
    print(e)
v += 1
print(v, v._version)
