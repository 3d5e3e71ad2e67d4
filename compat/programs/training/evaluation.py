# Training with evaluation under no_grad, keeping losses in a list, accumulating metrics on tensors.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
x, y = torch.randn(32, 4), torch.randn(32, 1)
losses, total = [], torch.zeros(())
for i in range(12):
    net.train()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss)
    total += loss.detach()
    if i % 4 == 0:
        net.eval()
        with torch.no_grad():
            print(i, f"{nn.functional.mse_loss(net(x), y):.4f}", net.training)
print(torch.stack(losses)[:4], f"{(total / 12).item():.4f}", losses[0].requires_grad)
