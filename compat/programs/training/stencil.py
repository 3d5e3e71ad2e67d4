# Heat equation with in-place slices, and a gradient through it.
import torch

u = torch.zeros(6, 6)
u[2:4, 2:4] = 100.0
for _ in range(3):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    u[0] = u[1]
    u[-1] = u[-2]
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2]
print(u, u._version)
k = torch.tensor(0.1, requires_grad=True)
v = torch.zeros(5)
v[2] = 1.0
for _ in range(3):
    v = v.clone()
    v[1:-1] = v[1:-1] + k * (v[2:] - 2 * v[1:-1] + v[:-2])
v.pow(2).sum().backward()
print(v, k.grad)
