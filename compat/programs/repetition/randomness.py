# Random draws inside a repeated computation are new each time, and the same for the seed.
import torch
import torch.nn.functional as F


def noisy():
    x = torch.ones(4, requires_grad=True)
    y = F.dropout(x + torch.randn(4), 0.5) * torch.rand(1)
    y.sum().backward()
    return y.detach() + 0, x.grad


torch.manual_seed(0)
first = [noisy() for _ in range(3)]
torch.manual_seed(0)
second = [noisy() for _ in range(3)]
for (a, b), (c, d) in zip(first, second):
    print(a, b, torch.equal(a, c), torch.equal(b, d))
print(torch.equal(first[0][0], first[1][0]))
