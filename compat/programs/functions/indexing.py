# Indexing, gather, scatter, masks, sorting.
import torch


def inputs():
    return torch.tensor([[3.0, 1.0, 2.0], [0.5, 9.0, -4.0]]), torch.tensor([[0, 2], [1, 1]])


def compute(x, i):
    return (x.gather(1, i), torch.zeros_like(x).scatter_add(1, i, torch.ones(2, 2)), x[:, [2, 0]], x[i[:, 0]], x.sort(1).values, x.argsort(1),
            x.topk(2).values, x.cumsum(1), torch.cat([x, x.flip(1)], 0), torch.stack([x, x], -1).shape[-1] * x, x.max(1).values, x.argmax(1), x.roll(1, 1), torch.tril(x), x.masked_fill(x > 2, 0.0))


print(compute(*inputs()))
