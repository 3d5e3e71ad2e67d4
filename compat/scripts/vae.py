"""Trains a variational autoencoder: the reparametrisation draws from the global stream, two losses are summed."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.fc3, self.fc4 = nn.Linear(4, 32), nn.Linear(32, 64)

    def forward(self, x):
        h = F.relu(self.fc1(x.view(-1, 64)))
        mu, logvar = self.fc21(h), self.fc22(h)
        std = torch.exp(0.5 * logvar)
        z = mu + torch.randn_like(std) * std
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    data = (torch.rand(256, 8, 8) + torch.rand(256, 8, 1)) / 2
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        x = data[torch.randint(0, 256, (32,))]
        out, mu, logvar = model(x)
        bce = F.binary_cross_entropy(out, x.view(-1, 64), reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step:4d} loss {loss.item() / 32:.5f} of it {kld.item() / 32:.4f}")
    model.eval()
    with torch.no_grad():
        print(model.fc4(F.relu(model.fc3(torch.randn(2, 4)))).sigmoid().mean(1))


if __name__ == "__main__":
    main()
