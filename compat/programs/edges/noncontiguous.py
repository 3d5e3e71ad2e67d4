# Transposed, strided, expanded and overlapping inputs give the same results as their copies.
import torch
import torch.nn.functional as F

base = torch.arange(24.0).reshape(4, 6)
forms = {"t": base.t(), "slice": base[:, ::2], "expand": base[:1].expand(4, 6), "flip": base.flip(1), "diag": base.diagonal(), "select": base[:, 3], "permute": base.view(2, 2, 6).permute(2, 0, 1), "unfold": base[0].unfold(0, 3, 1), "as_strided": base.as_strided((3, 3), (1, 2), 4)}
for name, x in forms.items():
    c = x.contiguous().clone()
    checks = [torch.equal(f(x), f(c)) for f in (lambda t: t + 1, lambda t: t.sum(0), lambda t: t.sum(), lambda t: t.reshape(-1), lambda t: t.flatten(), lambda t: t.max(), lambda t: F.softmax(t, -1), lambda t: t.sort(-1).values, lambda t: t.cumsum(0), lambda t: t @ t.new_ones(t.shape[-1]), lambda t: t[0], lambda t: t[..., -1], lambda t: torch.cat([t, t]), lambda t: t.to(torch.int64), lambda t: t.clone(), lambda t: t.view(t.shape), lambda t: t.exp().log1p(), lambda t: torch.tensor(t.tolist()))]
    print(name, tuple(x.shape), x.stride(), x.is_contiguous(), all(checks), (x + 1).stride(), x.clone().stride(), x.contiguous().stride(), torch.empty_like(x).stride(), (x * c).stride(), x.numpy().tolist() == c.tolist())
x = base.clone()
x.t()[1:3].copy_(torch.full((2, 4), -1.0))
x[:, ::2].add_(100)
x[::2].t().mul_(2)
print(x)
