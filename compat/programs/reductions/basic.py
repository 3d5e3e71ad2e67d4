# sum, mean, prod, var, std, norm, any, all over dims, keepdim, dtype, empty.
import torch

x = torch.arange(24.0).reshape(2, 3, 4)
for f in (torch.sum, torch.mean, torch.amax, torch.amin, torch.std, torch.var, torch.logsumexp):
    row = []
    for d, k in ((0, False), (-1, True), ((0, 2), False), ((0, 1, 2), True)):
        y = f(x, d, keepdim=k)
        row.append((tuple(y.shape), [round(v, 3) for v in y.flatten().tolist()[:4]]))
    print(f.__name__, row)
print(x.sum(), x.mean(), x.prod(), x.max(), x.min(), x.std(), x.var(), x.norm(), x.median(), x.amax(), x.sum(dim=()), x.sum(dim=[]))
print(x.prod(1), x.var(0, unbiased=False)[0], x.std(correction=0), x.var(dim=2, correction=2)[0], torch.std_mean(x), torch.var_mean(x, 0)[0][0])
e = torch.zeros(0, 3)
print(e.sum(), e.sum(0), e.sum(1), e.mean(), e.prod(), e.mean(0), e.all(), e.any(), e.amax(1), torch.zeros(2, 0).sum(1), e.std(), e.max(1).values)
i = torch.tensor([[1, 2], [3, 4]])
print(i.sum(), i.sum(0), i.prod(), i.float().mean(), i.sum(dtype=torch.float32), i.mean(dtype=torch.float64), i.max(), torch.tensor([True, True]).sum(), torch.tensor([True]).prod())
print(torch.all(i > 0), (i > 2).any(0), (i > 2).all(1, keepdim=True), torch.any(torch.tensor([0.0, 0.5])), torch.all(torch.tensor([], dtype=torch.bool)), torch.count_nonzero(i - 1), torch.count_nonzero(i, 0))
print(torch.tensor(3.0).sum(0), torch.tensor(3.0).max(0), torch.tensor(3.0).mean(-1), x.sum((-1, -2)), x[0, 0].sum(0, keepdim=True))
