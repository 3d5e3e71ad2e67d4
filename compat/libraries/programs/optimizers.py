"""pytorch_optimizer: a hundred optimizers, three steps of each."""
import pytorch_optimizer
import torch
from _telling import case
from torch import nn


def stepped(name):
    net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)), torch.randn(8, 4)
    optimizer, losses = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=0.01), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net[0].weight


for name in sorted(pytorch_optimizer.get_supported_optimizers()):
    case(name, lambda: stepped(name))
