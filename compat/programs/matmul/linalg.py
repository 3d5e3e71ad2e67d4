# A few everyday linear algebra functions.
import torch

m = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
print(torch.linalg.inv(m), torch.linalg.det(m), torch.linalg.solve(m, torch.tensor([1.0, 2.0])), torch.linalg.cholesky(m), torch.linalg.eigvalsh(m), torch.linalg.svdvals(m), m.inverse(), m.det(), torch.linalg.matrix_rank(m), torch.linalg.slogdet(m))
p = m.clone().requires_grad_()
torch.linalg.inv(p).sum().backward()
print(p.grad)
p.grad = None
torch.linalg.det(p).backward()
print(p.grad)
try:
    torch.linalg.inv(torch.zeros(2, 2))
except Exception as e:
    print(type(e).__name__, e)
