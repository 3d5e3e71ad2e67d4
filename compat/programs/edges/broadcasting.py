# Shapes that stretch, in forward, in-place and backward.
import torch

shapes = [(), (1,), (3,), (2, 1), (1, 3), (2, 3), (4, 1, 3), (2, 1, 1), (0, 1), (1, 0)]
for a in shapes:
    row = []
    for b in shapes:
        x, y = torch.ones(a, requires_grad=True), torch.full(b, 2.0, requires_grad=True)
        try:
            z = x * y
            z.sum().backward()
            row.append((tuple(z.shape), x.grad.sum().item(), tuple(y.grad.shape)))
        except RuntimeError as e:
            row.append(str(e)[:30])
    print(a, row)
for a in shapes[:7]:
    row = []
    for b in shapes[:7]:
        try:
            row.append(tuple(torch.zeros(a).add_(torch.ones(b)).shape))
        except RuntimeError:
            row.append("no")
    print(a, row)
