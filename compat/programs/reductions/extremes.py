# max, min, argmax, argmin, sort, topk, kthvalue, median, mode, unique: values, indices, ties.
import torch

x = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, -1.0]])
print(x.max(1), x.max(0).values, x.min(1, keepdim=True), x.argmax(), x.argmax(1), x.argmin(0, keepdim=True), torch.max(x, torch.tensor(2.0)), torch.minimum(x, x.flip(0)))
print(x.sort(), x.sort(1, descending=True), x.sort(0).indices, x.argsort(dim=1, stable=True), torch.sort(torch.tensor([2, 1, 2, 1]), stable=True))
print(x.topk(2), x.topk(1, largest=False), x.topk(2, dim=0).values, x.kthvalue(2), x.median(1), x.median(), torch.tensor([1, 2, 2, 3]).mode(), x.aminmax())
print(x.unique(), torch.tensor([3, 1, 3, 2]).unique(return_inverse=True, return_counts=True), torch.tensor([1, 1, 2, 1]).unique_consecutive(return_counts=True), torch.unique(torch.tensor([[1, 2], [1, 2], [0, 1]]), dim=0))
v, i = torch.max(x, 1)
m = x.max(1)
print(v, i, m.values, m.indices, m[0], len(m), isinstance(m, tuple), type(m).__name__)
for name, f in {"max": lambda t: t.max(), "amax": lambda t: t.amax(), "max dim": lambda t: t.max(1).values.sum(), "amax dim": lambda t: t.amax(1).sum(), "min": lambda t: t.min(),
                "maximum": lambda t: torch.maximum(t, torch.tensor(2.0)).sum(), "median": lambda t: t.median(), "sort": lambda t: (t.sort(1).values * torch.tensor([1.0, 2.0, 3.0])).sum(),
                "topk": lambda t: (t.topk(2).values * torch.tensor([1.0, 5.0])).sum(), "clamp": lambda t: t.clamp(1, 2).sum(), "prod": lambda t: (t * 0 + torch.tensor([0.0, 1.0, 2.0])).prod(), "norm": lambda t: (t * 0).norm()}.items():
    p = x.clone().requires_grad_()
    f(p).backward()
    print(name, p.grad)
