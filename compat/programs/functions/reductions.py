# Reductions over several dimensions.
import torch


def inputs():
    return (torch.arange(24.0).reshape(2, 3, 4) / 7 - 1,)


def compute(x):
    return (x.sum(), x.sum((0, 2)), x.mean(-1, keepdim=True), x.var(1), x.std(), x.prod(2), x.amax((1, 2)), x.min(0).indices, x.norm(dim=1), x.logsumexp(2), x.softmax(0), x.log_softmax(-1),
            (x > 0).any(1), (x > -1).all(), x.cumprod(1), x.median(2).values, x.argmin(), torch.einsum("abc,abd->cd", x, x))


print(compute(*inputs()))
