# What autograd.grad refuses.
import torch

x = torch.ones(2, requires_grad=True)
u = torch.ones(2, requires_grad=True)
c = torch.ones(2)
for f in (lambda: torch.autograd.grad(x.sum(), u), lambda: torch.autograd.grad(x.sum(), [x, u]),
          lambda: torch.autograd.grad(x.sum(), c), lambda: torch.autograd.grad(c.sum(), x),
          lambda: torch.autograd.grad(x * 2, x), lambda: torch.autograd.grad(x * 2, x, torch.ones(3)),
          lambda: torch.autograd.grad(x.sum(), [u], allow_unused=True), lambda: torch.autograd.grad(x.sum(), x * 2),
          lambda: torch.autograd.grad([x.sum(), x.prod()], [x]), lambda: torch.autograd.grad(x.sum(), []),
          lambda: torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True),
          lambda: torch.autograd.grad((x * 2).detach().sum(), x)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
