# 0-d tensors through everyday operations, with gradients.
import torch
import torch.nn.functional as F

s = torch.tensor(2.0, requires_grad=True)
y = (s * 3 + torch.ones(2)).sum() + s.view(1).sum() + s.reshape(1, 1).squeeze() + s.unsqueeze(0)[0] + s.expand(3).mean() + torch.stack([s, s]).prod() + s.clone() + F.relu(s) + s.exp().log()
y.backward()
print(y, s.grad)
i = torch.tensor(1)
x = torch.arange(4.0)
print(x[i], x[i:], x[: i + 1], x.narrow(0, i, 2), x.select(0, i), x.roll(int(i)), torch.zeros(2, 2)[i, i], x.index_select(0, i), x.gather(0, i), x.take(i), x[i].shape, i.new_zeros(()).shape, torch.full((), 3).shape)
z = torch.zeros(())
z += 1
z.mul_(3).sub_(s.detach())
z[...] = z + 1
z[()] = z * 2
print(z, z.t(), z.sort(), z.cumsum(0), z.sum(0), z.max(0), z.argmax(), z.flatten(), z.permute(()), z.transpose(0, 0), torch.cat([z[None], z[None]]), z.repeat(2), z.tolist(), z.nonzero(), z.norm(), z.std(correction=0), z.softmax(0), torch.dot(z[None], z[None]), F.one_hot(torch.tensor(1), 3), z.unique())
