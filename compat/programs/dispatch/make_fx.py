"""Functions as graphs of ATen operators."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx
def f(x, y): return torch.sin(x) @ y + 1, (x * 2).sum(0)
g = make_fx(f)(torch.ones(2, 3), torch.ones(3, 2))
print(g.code); print([ (n.op, n.name, str(n.target)) for n in g.graph.nodes])
print(g(torch.zeros(2, 3), torch.ones(3, 2)))
def h(x): return torch.autograd.grad((x ** 2).sum(), x)[0]
print(make_fx(h)(torch.ones(3, requires_grad=True)).code)
m = nn.Linear(2, 3)
k = make_fx(lambda x: F.relu(m(x)).split(1, 1))(torch.ones(1, 2)); print(k.code); print(k(torch.ones(1, 2))[0].shape)
print(make_fx(lambda x: x + torch.tensor([1., 2.]))(torch.ones(2)).code)
print(make_fx(f, tracing_mode="fake")(torch.ones(2, 3), torch.ones(3, 2)).code)
def ip(x):
    y = x.clone(); y.add_(1); return y
print(make_fx(ip)(torch.ones(2)).code)
