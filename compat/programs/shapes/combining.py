# cat, stack, split, chunk, repeat, tile, roll, flip, pad, tril, meshgrid.
import torch
import torch.nn.functional as F

a, b = torch.arange(6.0).reshape(2, 3), torch.ones(1, 3)
print(torch.cat([a, b]), torch.cat((a, a), -1), torch.cat([a, torch.zeros(0)]), torch.cat([torch.tensor([1]), torch.tensor([1.5])]), torch.stack([a, a]).shape, torch.stack([a, a], -1)[0], torch.hstack([a, a]).shape, torch.vstack([a, b]).shape, torch.dstack([a, a]).shape, torch.concat([b, b], dim=1), torch.column_stack([b[0], b[0]]))
print(a.repeat(2, 1), a.repeat(2, 1, 1).shape, a.tile(2), a.repeat_interleave(2), a.repeat_interleave(2, 1), torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 1])), a.roll(1), a.roll(1, 1), a.roll((1, -1), (0, 1)), a.flip(1), a.fliplr(), a.rot90())
print(F.pad(a, (1, 0)), F.pad(a, (0, 0, 1, 1), value=9.0), F.pad(a, (-1, 0)), F.pad(a[None], (1, 1), mode="reflect"), F.pad(a[None], (1, 1), mode="replicate"), F.pad(a[None], (1, 1), mode="circular"))
m = torch.arange(9).reshape(3, 3)
print(m.tril(), m.triu(1), m.tril(-1), torch.triu(torch.ones(2, 3)), torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])), torch.combinations(torch.arange(3)), torch.block_diag(torch.ones(1, 2), torch.ones(1, 1)), torch.diag_embed(torch.tensor([1, 2])))
p = torch.arange(4.0).requires_grad_()
y = torch.cat([p * 2, p[:2], torch.ones(1)])
(y * torch.arange(7.0)).sum().backward()
print(y.grad_fn.name(), p.grad)
p.grad = None
(torch.stack([p, p * 3]) * torch.tensor([[1.0], [2.0]])).sum().backward()
print(p.grad)
p.grad = None
(p.repeat(2) * torch.arange(8.0)).sum().backward()
(p.roll(1) * torch.arange(4.0)).sum().backward()
F.pad(p, (1, 1), value=5.0).sum().backward()
print(p.grad)
