"""Fits a small network to a curve with LBFGS and its closures, then a polynomial with gradients by hand."""
import argparse

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    x = torch.linspace(-2, 2, 64, dtype=torch.float64).unsqueeze(1)
    y = torch.sin(2 * x) + 0.05 * torch.randn(64, 1, dtype=torch.float64)
    model = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)).double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=6, line_search_fn="strong_wolfe")
    for step in range(args.steps):
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        print(f"step {step:4d} loss {loss.item():.6f}")
    w = torch.zeros(4, 1, dtype=torch.float64, requires_grad=True)
    powers = torch.cat([x ** k for k in range(4)], dim=1)
    for step in range(args.steps * 5):
        loss = (powers @ w - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.02 * w.grad
            w.grad = None
        if step % 5 == 0:
            print(f"polynomial {step:4d} loss {loss.item():.6f}")
    print([round(v, 5) for v in w.flatten().tolist()])


if __name__ == "__main__":
    main()
