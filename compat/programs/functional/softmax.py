# softmax, log_softmax over dims, dtype argument, masks, empty, gradients.
import torch
import torch.nn.functional as F

x = torch.tensor([[1.0, 2.0, 3.0], [1.0, float("-inf"), 1.0]], requires_grad=True)
for f in (F.softmax, F.log_softmax):
    for dim in (0, 1, -1):
        print(f.__name__, dim, f(x, dim=dim))
w = torch.tensor([[1.0, -1.0, 2.0], [3.0, 1.0, 0.5]])
y = torch.softmax(x, 1)
(y * w).sum().backward()
print(y.grad_fn.name(), x.grad + 0)
p = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
(p.log_softmax(0) * torch.tensor([1.0, 0.0, 2.0])).sum().backward()
print(p.grad, p.log_softmax(0).grad_fn.name())
print(torch.softmax(torch.tensor(3.0), 0), torch.softmax(torch.zeros(0, 2), 0), torch.softmax(torch.zeros(2, 0), 1), torch.tensor([1, 2]).softmax(0, dtype=torch.float64), F.softmax(torch.tensor([1e4, 0.0]), 0), torch.tensor([-1e30, 1e30]).softmax(-1))
print(torch.logsumexp(p, 0), F.log_softmax(torch.tensor([1000.0, 0.0]), 0), torch.softmax(torch.full((2,), float("-inf")), 0))
causal = torch.triu(torch.ones(3, 3), 1).bool()
print(torch.zeros(3, 3).masked_fill(causal, float("-inf")).softmax(-1))
torch.manual_seed(0)
print(F.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(1))
