"""Tensors without values."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode, is_fake
with FakeTensorMode() as mode:
    x = torch.empty(2, 3)
    y = (x @ x.T).relu()
    print(type(x).__name__, x, y, y.shape, y.device, y.dtype, x.is_meta, x.device.type, isinstance(x, torch.Tensor), is_fake(y))
    print(torch.zeros(2, dtype=torch.int64), torch.tensor([1., 2.]), x.double(), x.new_zeros(3), torch.zeros_like(x), x[0], x + 1, 2 * x)
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))
    print(m[0].weight, isinstance(m[0].weight, nn.Parameter), [p.shape for p in m.parameters()])
    out = m(x); print(out, out.requires_grad)
    loss = F.cross_entropy(out, torch.zeros(2, dtype=torch.long)); loss.backward()
    print(m[0].weight.grad, loss)
    opt = torch.optim.SGD(m.parameters(), .1); opt.step()
    for f in (lambda: x.sum().item(), lambda: bool(x[0, 0] > 0), lambda: x.tolist(), lambda: torch.nonzero(x), lambda: x[x > 0],
              lambda: x.numpy()):
        try:
            print(f())
        except BaseException as e:
            print(type(e).__name__, str(e)[:60])
    print(x.add_(1) is x, x.t().is_contiguous(), x.stride(), torch.cat([x, x]), x.sum(), x.max(1), x.split(1)[0])
real = torch.ones(2, 2)
f = mode.from_tensor(real); print(f, type(f).__name__, f.fake_mode is mode, mode.from_tensor(real) is f)
g = f + 1; print(g)
try:
    with mode: print(real + f)
except BaseException as e: print(type(e).__name__, str(e)[:90])
with FakeTensorMode(allow_non_fake_inputs=True): print(torch.ones(2, 2) + real)
lin = nn.Linear(2, 2)
p = mode.from_tensor(lin.weight); print(isinstance(p, nn.Parameter), p.requires_grad)
