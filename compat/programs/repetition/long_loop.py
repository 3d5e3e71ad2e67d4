# Two thousand steps without a look, then the result.
import torch

x = torch.tensor([0.5, 1.5], requires_grad=True)
for i in range(2000):
    loss = ((x - torch.tensor([3.0, -2.0])) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        x -= 0.01 * x.grad
        x.grad = None
print(x, f"{loss.item():.4f}")
total = torch.zeros(())
for i in range(3000):
    total = total + i
print(total)
u = torch.zeros(10)
for i in range(1000):
    u[i % 10] += 1
print(u, u._version)
