# gather, scatter, index_*, take, masked_*, nonzero, where.
import torch

x = torch.arange(12.0).reshape(3, 4)
i = torch.tensor([[0, 2], [1, 1], [3, 0]])
print(x.gather(1, i), x.gather(-1, i), x.gather(0, torch.tensor([[0, 1, 2, 0]])))
print(torch.zeros(3, 4).scatter_(1, i, 5.0), torch.zeros(3, 4).scatter(1, i, torch.ones(3, 2)), torch.zeros(3, 4).scatter_add(1, i, torch.ones(3, 2)))
print(torch.ones(4).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([2.0, 3.0, 4.0]), "sum"),
      torch.ones(4).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([2.0, 3.0, 4.0]), "amax", include_self=False))
print(x.index_select(0, torch.tensor([2, 0])), x.index_select(-1, torch.tensor([1])), x.take(torch.tensor([0, -1])))
print(torch.zeros(3).index_add_(0, torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0])), torch.zeros(3).index_fill(0, torch.tensor([1]), 9),
      torch.zeros(3).index_copy(0, torch.tensor([2]), torch.tensor([4.0])), torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True))
print(x.masked_select(x > 9), x.masked_fill(x > 5, -1), torch.zeros(2, 2).masked_scatter(torch.eye(2) > 0, torch.tensor([1.0, 2.0, 3.0])))
print((x > 9).nonzero(), (x > 9).nonzero(as_tuple=True), torch.nonzero(torch.tensor(3.0)), torch.argwhere(x == 4), torch.where(x > 9))
print(torch.where(x > 5, x, 0), torch.where(torch.tensor([True, False]), 1, 2.5), torch.where(torch.tensor(True), torch.ones(2), torch.zeros(2, dtype=torch.float64)).dtype)
print(torch.take_along_dim(x, x.argmax(1, keepdim=True), 1), torch.diag(torch.tensor([1.0, 2.0])), x.diag(1), torch.tril_indices(3, 3), torch.bucketize(torch.tensor([1.5]), torch.tensor([1.0, 2.0])),
      torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4])))
