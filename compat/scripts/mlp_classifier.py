"""Trains a small classifier on two spirals: SGD with momentum, StepLR, evaluation every 25 steps."""
import argparse
import math
import resource
import statistics
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.inlet = nn.Linear(2, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.outlet = nn.Linear(width, 3)

    def forward(self, x):
        x = torch.tanh(self.inlet(x))
        for layer in self.hidden:
            x = x + F.relu(layer(x))
        return self.outlet(x)


def spirals(count):
    """Points on three interleaved arms, and the arm of each."""
    arm = torch.randint(0, 3, (count,))
    radius = torch.rand(count)
    angle = radius * 4.0 + arm * (2 * math.pi / 3) + torch.randn(count) * 0.15
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1), arm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.015)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x, y = spirals(1024)
    x_test, y_test = spirals(256)
    model = Classifier(args.width, args.depth)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=40, gamma=0.5)
    seconds = []
    for step in range(args.steps):
        start = time.perf_counter()
        model.train()
        batch = torch.randint(0, len(x), (args.batch,))
        loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        value = loss.item()
        seconds.append(time.perf_counter() - start)
        print(f"step {step:4d} loss {value:.6f} lr {scheduler.get_last_lr()[0]:.5f}", flush=step == 0)
        if step % 25 == 24:
            model.eval()
            with torch.no_grad():
                logits = model(x_test)
                test = F.cross_entropy(logits, y_test)
                right = (logits.argmax(dim=1) == y_test).float().mean()
            print(f"test after {step + 1}: loss {test.item():.6f} accuracy {right.item():.3f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"median {statistics.median(seconds) * 1e3:.3f} ms a step, peak {peak:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
