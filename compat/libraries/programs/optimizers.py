"""pytorch_optimizer: a hundred optimizers, three steps of each."""
import pytorch_optimizer
import torch
from _telling import case
from torch import nn


#: They take singular vectors or iterate in bfloat16: of matrices with a null space, or a last digit apart, they make different ones.
SENSITIVE = ("alice", "scionlight", "soap", "splus")


def stepped(name):
    shape, x = ((4, 4), torch.randn(8, 4).double()) if name in SENSITIVE else ((8, 2), torch.randn(8, 4))
    net = nn.Sequential(nn.Linear(4, shape[0]), nn.Tanh(), nn.Linear(*shape)).to(x.dtype)
    optimizer, losses = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=0.01), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(x) - (x.cos() if name in SENSITIVE else 0)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net[0].weight


for name in sorted(pytorch_optimizer.get_supported_optimizers()):
    case(name, lambda: stepped(name))
