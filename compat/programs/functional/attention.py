# Attention written out, and scaled_dot_product_attention.
import math
import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k, v = (torch.randn(1, 2, 4, 3, requires_grad=True) for _ in range(3))
mask = torch.tril(torch.ones(4, 4)).view(1, 1, 4, 4)
att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
att = att.masked_fill(mask == 0, float("-inf"))
att = F.softmax(att, dim=-1)
y = att @ v
print(att[0, 0], y[0])
y.pow(2).sum().backward()
print(q.grad[0, 0], k.grad[0, 0], v.grad[0, 0])
z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(torch.allclose(y, z, atol=1e-6), F.scaled_dot_product_attention(q, k, v)[0, 0, 0], F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool())[0, 1, 3])
