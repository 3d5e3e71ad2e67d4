"""A network with backpropagation written by hand, each step looked at once."""
import torch

torch.manual_seed(0)
x, y = torch.randn(64, 10), torch.randn(64, 1)
w1, w2 = torch.randn(10, 32) * 0.3, torch.randn(32, 1) * 0.3
for k in range(100):
    h = torch.tanh(x @ w1)
    error = h @ w2 - y
    g2 = h.t() @ error / 64
    g1 = x.t() @ (error @ w2.t() * (1 - h * h)) / 64
    w1 -= 0.1 * g1
    w2 -= 0.1 * g2
    if k % 20 == 0:
        print(k, error.pow(2).mean().item())
