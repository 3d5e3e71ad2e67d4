# In-place writes to leaves that require grad are refused, also through views.
import torch

x = torch.ones(3, requires_grad=True)
for f in (lambda: x.add_(1), lambda: x.__setitem__(0, 1.0), lambda: x[0:2].mul_(2), lambda: x.view(3).zero_(),
          lambda: x.copy_(torch.zeros(3)), lambda: x.t_(), lambda: torch.add(torch.ones(3), 1, out=x)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
try:
    x += 1
except RuntimeError as e:
    print(e)
print(x, x._version)
x.grad = torch.ones(3)
x.grad.zero_()
print(x.grad)
