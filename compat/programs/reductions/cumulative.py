# cumsum, cumprod, cummax, diff, trapezoid, histc, bincount, norms.
import torch

x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(x.cumsum(0), x.cumsum(-1), x.cumprod(1), torch.tensor([1, 3, 2, 5]).cummax(0), torch.tensor([3, 1, 2]).cummin(0), x.logcumsumexp(1), torch.tensor([True, True]).cumsum(0))
print(x.diff(), x.diff(dim=0), torch.diff(torch.tensor([1, 4, 9, 16]), n=2), torch.trapezoid(x), torch.bincount(torch.tensor([0, 1, 1, 3])), torch.bincount(torch.tensor([0, 1]), weights=torch.tensor([0.5, 2.0]), minlength=4), torch.histc(x, 3, 1, 7))
print(x.norm(), x.norm(1), x.norm(2, dim=1), x.norm(float("inf")), x.norm("fro"), torch.linalg.norm(x), torch.linalg.vector_norm(x, 3, dim=0), torch.linalg.matrix_norm(x), torch.dist(x[0], x[1]), x.renorm(2, 0, 3.0))
print(torch.tensor([1.0, 2.0, 3.0, 4.0]).quantile(0.4), x.quantile(torch.tensor([0.0, 0.5]), dim=1), x.nansum(), torch.cov(x), torch.corrcoef(x))
p = torch.tensor([1.0, 2.0, 0.0], requires_grad=True)
(p.cumsum(0) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(p.grad)
p.grad = None
p.cumprod(0).sum().backward()
print(p.grad)
p.grad = None
p.prod().backward()
print(p.grad)
p.grad = None
(p.var() + p.std() + p.norm() + p.logsumexp(0)).backward()
print(p.grad)
