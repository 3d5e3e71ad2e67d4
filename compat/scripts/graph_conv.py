"""Trains a graph convolution network on two communities: messages by index_add, normalised by degrees, masked losses."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, edges, norm):
        source, target = edges
        x = self.lin(x)
        out = torch.zeros_like(x).index_add(0, target, x[source] * norm.unsqueeze(1))
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(features, hidden), GraphConv(hidden, classes)

    def forward(self, x, edges, norm):
        x = F.dropout(F.relu(self.gc1(x, edges, norm)), 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, edges, norm), dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    n = 60
    label = torch.arange(n) % 2
    chance = torch.where(label[:, None] == label[None], 0.2, 0.03)
    adjacency = torch.triu(torch.rand(n, n) < chance, diagonal=1)
    adjacency = adjacency | adjacency.t() | torch.eye(n, dtype=torch.bool)
    edges = adjacency.nonzero().t()
    degree = torch.bincount(edges[1], minlength=n).float()
    norm = degree.rsqrt()[edges[0]] * degree.rsqrt()[edges[1]]
    x = torch.randn(n, 16) + 0.3 * label[:, None]
    train = torch.zeros(n, dtype=torch.bool)
    train[torch.randperm(n)[:20]] = True
    model = GCN(16, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for step in range(args.steps):
        model.train()
        optimizer.zero_grad()
        out = model(x, edges, norm)
        loss = F.nll_loss(out[train], label[train])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(x, edges, norm).argmax(1) == label)[~train].float().mean()
        print(f"step {step:4d} loss {loss.item():.5f} right {right.item():.3f}")


if __name__ == "__main__":
    main()
