# Module hooks: forward, pre-forward, full backward; parameters' hooks.
import torch
from torch import nn

torch.manual_seed(0)
m = nn.Linear(2, 1)
h = [m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,)), m.register_forward_hook(lambda mod, args, out: out + 100),
     m.register_full_backward_hook(lambda mod, gi, go: print("backward", [None if g is None else g.shape for g in gi], go))]
x = torch.ones(1, 2, requires_grad=True)
y = m(x)
print(y)
y.sum().backward()
print(x.grad, m.weight.grad)
for handle in h:
    handle.remove()
print(m(x))
