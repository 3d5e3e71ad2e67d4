# Module: registration, names, repr, train/eval, apply, to, children, buffers.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(2, width)
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("steps", torch.zeros(1))
        self.register_buffer("scratch", torch.ones(2), persistent=False)
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.5))
        self.none = None

    def forward(self, x):
        return self.inner(self.first(x)) * self.scale


m = Block(3)
print(m)
print([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], [n for n, _ in m.named_children()], [n for n, _ in m.named_modules()])
print(list(m.state_dict()), sum(p.numel() for p in m.parameters()), m.training, m.eval().training, m.inner[2].training, m.train() is m, len(m.inner), m.inner[0], m.inner[-1])
print(m(torch.zeros(1, 2)).shape, m.eval()(torch.zeros(1, 2)).grad_fn.name(), m.get_parameter("first.bias").shape, m.get_submodule("inner.1"))
m.apply(lambda t: print(type(t).__name__))
m.double()
print(m.first.weight.dtype, m.steps.dtype, m.float().scale.dtype, m.to(torch.bfloat16).scale.dtype, next(m.parameters()).device)
m.float().requires_grad_(False)
print([p.requires_grad for p in m.parameters()])
m.extra = nn.Parameter(torch.zeros(1))
del m.inner
print([n for n, _ in m.named_parameters()], "scale" in m._parameters, isinstance(m.scale, nn.Parameter), m.none)
for f in (lambda: m.missing, lambda: setattr(m, "scale", torch.ones(3)), lambda: m.register_parameter("a.b", None), lambda: nn.Module()(1), lambda: m.get_submodule("nope"), lambda: nn.Parameter(torch.tensor([1]))):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
