# Negative dimensions and tuples of them everywhere.
import torch
import torch.nn.functional as F

x = torch.arange(24.0).reshape(2, 3, 4)
for d in (-3, -2, -1):
    print(d, x.sum(d).flatten().tolist()[:3], x.mean(d, keepdim=True).shape, x.max(d).indices.flatten().tolist()[:3], x.softmax(d).sum(d).shape, x.cumsum(d).flatten().tolist()[-2:], x.unsqueeze(d).shape, x.select(d, -1).shape, x.narrow(d, -2, 1).shape, x.flip(d).flatten().tolist()[:2],
          x.roll(1, d).flatten().tolist()[:2], torch.cat([x, x], d).shape, torch.stack([x, x], d).shape, [t.shape[d] for t in x.split(2, d)], x.argmax(d).shape, x.transpose(d, -1).shape, x.unbind(d)[0].shape, x.size(d), x.stride(d), F.normalize(x, dim=d).shape, x.repeat_interleave(2, d).shape, x.index_select(d, torch.tensor([-0])).shape, x.logsumexp(d).shape, x.std(d).shape, x.topk(1, d).values.shape, x.sort(d).indices.shape, x.any(d).shape, x.diff(dim=d).shape)
print(x.permute(-1, -3, -2).shape, x.sum((-1, -3)).tolist(), x.amax((-2, -1)), x.flatten(-2, -1).shape, x.movedim(-1, 0).shape, x.diagonal(0, -2, -1).shape, x.unflatten(-1, (2, 2)).shape, x.squeeze(-1).shape, x.norm(dim=(-2, -1)), x.var((-1, -2)).shape, x.swapaxes(-1, -2).shape, x.rot90(1, (-2, -1)).shape, x.tensor_split(2, -1)[1].shape)
