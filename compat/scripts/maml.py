"""Meta-learns sine waves (MAML): inner steps with create_graph, the outer gradient flows through them; weights as a list of tensors."""
import argparse
import math

import torch
import torch.nn.functional as F


def net(x, params):
    w1, b1, w2, b2 = params
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def task():
    """A wave's points: to learn from, and to be judged by."""
    amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * math.pi
    x = torch.rand(20, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return x[:10], y[:10], x[10:], y[10:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    params = [torch.randn(24, 1) * 0.5, torch.zeros(24), torch.randn(1, 24) * 0.3, torch.zeros(1)]
    params = [p.requires_grad_() for p in params]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    for step in range(args.steps):
        outer = 0.0
        for _ in range(3):
            x, y, x_new, y_new = task()
            fast = params
            for _ in range(2):
                inner = F.mse_loss(net(x, fast), y)
                grads = torch.autograd.grad(inner, fast, create_graph=True)
                fast = [p - 0.05 * g for p, g in zip(fast, grads)]
            outer = outer + F.mse_loss(net(x_new, fast), y_new)
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        print(f"step {step:4d} loss {outer.item():.5f} norm {torch.stack([p.grad.norm() for p in params]).norm().item():.4f}")


if __name__ == "__main__":
    main()
