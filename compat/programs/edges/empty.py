# Zero elements through everyday operations.
import torch
import torch.nn.functional as F

e = torch.zeros(0, 3, requires_grad=True)
print((e + 1).shape, (e * torch.ones(3)).sum(), (e @ torch.ones(3, 2)).shape, e.sum(0), e.mean(1), F.relu(e).shape, F.softmax(e, 1).shape, e.t().shape, e.reshape(3, 0).shape, torch.cat([e, torch.ones(1, 3)]))
(e.sum() + 1).backward()
print(e.grad)
z = torch.empty(0)
print(z.sum(), z.prod(), z.tolist(), z.numel(), z.unsqueeze(0).shape, z.sort().values, z.cumsum(0), z.unique(), torch.stack([z, z]).shape, z.max().item() if z.numel() else "none", list(z), len(z), z == z, z.all(), z.nonzero().shape, z[z > 0], z.clone(), z.norm(), F.linear(torch.zeros(0, 2), torch.ones(3, 2)).shape)
z += 1
z.fill_(3)
print(z, torch.zeros(2, 0).sum(0), torch.zeros(2, 0).sum(1), torch.zeros(1, 0).mean(), F.mse_loss(z, z), F.embedding(torch.zeros(0, dtype=torch.long), torch.ones(2, 2)).shape, torch.arange(0).dtype, z.split(1), z.chunk(2), torch.einsum("i,i", z, z), torch.nn.Linear(2, 2)(torch.zeros(0, 2)).shape)
