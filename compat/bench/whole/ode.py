"""Runge-Kutta with steps that adapt: the solver looks at each step's error."""
import torch

A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
f = lambda t, y: (y ** 3) @ A.t()
for start in (2.0, 1.5, 1.0):
    y, t, h, taken = torch.tensor([[start, 0.0]]), 0.0, 0.05, 0
    while t < 3.0:
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        full, low = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y + h * k2
        error = (full - low).abs().max().item()
        if error < 1e-2:
            y, t, taken = full, t + h, taken + 1
        h *= 0.9 * min(2.0, max(0.3, (1e-2 / (error + 1e-9)) ** 0.5))
    print(taken, y)
