# The same lines again and again with other Python numbers.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for i in range(5):
    y = (x * i + 2.0 / (i + 1)) ** 2
    z = torch.where(y > i, y, torch.full_like(y, -i))
    loss = (z * 0.5 ** i).sum()
    (g,) = torch.autograd.grad(loss, x)
    print(i, f"{loss.item():.4f}", g, z.clamp(max=10.0 + i), (x.detach() - i).abs() ** (i + 1))
lr = 0.9
w = torch.tensor([4.0])
for i in range(6):
    w = w - lr * w
    lr *= 0.5 if i % 2 else -0.5
    if i % 3 == 2:
        print(w, lr)
for p in (0, 1, 2, 3, -1, 0.5):
    print(torch.tensor([4.0, 9.0]) ** p, torch.tensor([4.0, 9.0]).pow(p).sum())
for k in (1, 2, 1, 2):
    print(torch.arange(6)[::k], torch.arange(6).roll(k), torch.full((k,), k), 0.1 * k + torch.zeros(1))
