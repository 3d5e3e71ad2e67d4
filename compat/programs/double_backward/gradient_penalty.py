# A gradient penalty through a small network, second derivatives of softmax, layer_norm and losses.
import torch
import torch.nn.functional as F

torch.manual_seed(0)
w1, w2 = torch.randn(3, 4, requires_grad=True), torch.randn(4, 1, requires_grad=True)
x = torch.randn(5, 3, requires_grad=True)
out = torch.sigmoid(F.softplus(x @ w1) @ w2)
(g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
penalty = ((g.norm(2, dim=1) - 1) ** 2).mean()
penalty.backward()
print(penalty, w1.grad, w2.grad)
for name, f in {"softmax": lambda t: (F.softmax(t, 0) ** 2).sum(), "layer_norm": lambda t: (F.layer_norm(t, (3,)) ** 3).sum(), "cross_entropy": lambda t: F.cross_entropy(t[None], torch.tensor([1])),
                "bce": lambda t: F.binary_cross_entropy_with_logits(t, torch.tensor([0.0, 1.0, 1.0])), "gelu": lambda t: F.gelu(t).sum(), "relu": lambda t: (F.relu(t) ** 2).sum(), "index": lambda t: (t[[0, 0, 2]] ** 2).sum(),
                "norm": lambda t: t.norm(), "prod": lambda t: t.prod(), "cumsum": lambda t: t.cumsum(0).prod(), "logsumexp": lambda t: t.logsumexp(0), "div": lambda t: (1 / t).sum()}.items():
    p = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
    (g,) = torch.autograd.grad(f(p), p, create_graph=True)
    if g.requires_grad:
        print(name, torch.stack([torch.autograd.grad(g[i], p, retain_graph=True)[0] for i in range(3)]) + 0)
