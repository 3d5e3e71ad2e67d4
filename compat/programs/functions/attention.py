# Masked attention with layer_norm and gelu.
import torch
import torch.nn.functional as F


def inputs():
    torch.manual_seed(1)
    return torch.randn(2, 4, 8), torch.randn(8, 24) * 0.3, torch.randn(8, 8) * 0.3


def compute(x, wqkv, wo):
    b, t, c = x.shape
    q, k, v = (F.layer_norm(x, (c,)) @ wqkv).split(c, dim=-1)
    q, k, v = (m.view(b, t, 2, c // 2).transpose(1, 2) for m in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) / (c // 2) ** 0.5
    mask = torch.ones(t, t, dtype=torch.bool).tril()
    scores = scores.masked_fill(~mask, float("-inf"))
    y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
    return x + F.gelu(y @ wo), scores[0, 0]


print(compute(*inputs()))
