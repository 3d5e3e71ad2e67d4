# A small classifier trained for thirty steps.
import torch
from torch import nn
import torch.nn.functional as F

for seed, cls, kw in ((0, torch.optim.SGD, {"lr": 0.5, "momentum": 0.9}), (1, torch.optim.Adam, {"lr": 0.05}), (2, torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1})):
    torch.manual_seed(seed)
    x = torch.randn(64, 2)
    y = (x[:, 0] * x[:, 1] > 0).long()
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    opt = cls(net.parameters(), **kw)
    losses = []
    for step in range(30):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(cls.__name__, [f"{v:.3f}" for v in losses[::6]])
    with torch.no_grad():
        print((net(x).argmax(1) == y).float().mean() > 0.8)
