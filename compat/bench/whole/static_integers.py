"""Integers that change, and results whose shape depends on data."""
import torch

torch.manual_seed(0)
x, total = torch.randn(40, 40), 0.0
for k in range(100):
    total += x.roll(k % 37, 0).tril(k % 20 - 10).sum().item() + x.topk(k % 30 + 1)[0].sum().item() + x.diagonal(k % 30).sum().item()
    z = x[: 5 + k % 30]
    total += z[z > 0].sum().item() + z.argmax(1).unique().numel() + (z > 1).nonzero().shape[0]
print(total)
