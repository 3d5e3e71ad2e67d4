"""A tanh cell unrolled over time; updates by hand under no_grad; nothing is looked at."""
import torch


def setup(variant, inputs=32, hidden=64, outputs=8, batch=16, length=24):
    torch.manual_seed(0)
    xs = torch.randn(length, batch, inputs)
    target = torch.randn(batch, outputs)
    wx = (torch.randn(inputs, hidden) / inputs ** 0.5).requires_grad_()
    wh = (torch.randn(hidden, hidden) / hidden ** 0.5).requires_grad_()
    b = torch.zeros(hidden, requires_grad=True)
    wo = (torch.randn(hidden, outputs) / hidden ** 0.5).requires_grad_()
    params = [wx, wh, b, wo]
    count = 0
    kept = None

    def forward():
        h = torch.zeros(batch, hidden)
        for t in range(length):
            h = torch.tanh(xs[t] @ wx + h @ wh + b)
        return ((h @ wo - target) ** 2).mean()

    def step():
        nonlocal count, kept
        lr = 0.01 / (1 + 0.001 * count) if variant == "lr" else 0.01
        loss = forward()
        if variant == "item_before":
            loss.item()
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= lr * p.grad
                p.grad = None
        if variant == "item_after":
            loss.item()
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            with torch.no_grad():
                forward().item()
        count += 1

    def look():
        return wh.detach().sum().item()

    return step, look
