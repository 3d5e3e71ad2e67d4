"""A multi-layer perceptron written with functions; SGD from torch.optim, cross_entropy."""
import torch
import torch.nn.functional as F


def setup(variant, sizes, batch=64):
    torch.manual_seed(0)
    xs = [torch.randn(batch, sizes[0]) for _ in range(8)]
    ys = [torch.randint(0, sizes[-1], (batch,)) for _ in range(8)]
    weights = [(torch.randn(n, m) * (2.0 / m) ** 0.5).requires_grad_() for m, n in zip(sizes, sizes[1:])]
    biases = [torch.zeros(n, requires_grad=True) for n in sizes[1:]]
    optimizer = torch.optim.SGD(weights + biases, lr=0.01)
    count = 0
    kept = None

    def model(x):
        for w, b in zip(weights[:-1], biases[:-1]):
            x = F.relu(F.linear(x, w, b))
        return F.linear(x, weights[-1], biases[-1])

    def step():
        nonlocal count, kept
        x, y = xs[count % 8], ys[count % 8]
        if variant == "lr":
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + 0.001 * count)
        loss = F.cross_entropy(model(x), y)
        if variant == "item_before":
            loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if variant == "item_after":
            loss.item()
        if variant == "keep":
            kept = loss
        if variant == "eval" and count % 10 == 0:
            with torch.no_grad():
                (model(xs[0]).argmax(1) == ys[0]).float().mean().item()
        count += 1

    def look():
        return weights[0].detach().sum().item()

    return step, look
