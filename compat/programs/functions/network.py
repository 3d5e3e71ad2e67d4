# Forward and backward of a two-layer network with cross_entropy and an SGD step.
import torch
import torch.nn.functional as F


def inputs():
    torch.manual_seed(0)
    return torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(4, 6) * 0.5, torch.zeros(6), torch.randn(6, 3) * 0.5


def compute(x, y, w1, b1, w2):
    params = [p.detach().clone().requires_grad_() for p in (w1, b1, w2)]
    losses = []
    for _ in range(3):
        h = F.relu(F.linear(x, params[0].t(), params[1]))
        loss = F.cross_entropy(h @ params[2], y)
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= 0.5 * p.grad
                p.grad = None
        losses.append(loss.detach())
    return torch.stack(losses), params[2].detach() * 10, params[1].detach() + 1


torch.set_printoptions(precision=3)      # the fifth digit depends on the order of sums
print(compute(*inputs()))
