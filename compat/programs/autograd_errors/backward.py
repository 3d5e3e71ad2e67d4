# What backward refuses.
import torch

x = torch.ones(2, requires_grad=True)
for f in (lambda: (x * 2).backward(), lambda: torch.ones(1).backward(), lambda: (x * 2).backward(torch.ones(3)),
          lambda: (x * 2).sum().backward(torch.ones(2)), lambda: (x * 2).backward(1.0),
          lambda: x.detach().sum().backward(), lambda: x.sum().detach().backward(),
          lambda: (x * 2).backward(torch.ones(2, dtype=torch.float64)), lambda: (x > 0).sum().backward(),
          lambda: torch.autograd.backward([x.sum()], [torch.tensor(1.0), torch.tensor(1.0)]),
          lambda: x.sum().backward(inputs=[]), lambda: x.sum().backward(inputs=[torch.ones(1)]),
          lambda: torch.autograd.backward((x * 1, x.sum())), lambda: (x * (1 + 1j)).sum().backward()):
    x.grad = None
    try:
        f()
        print("fine", x.grad)
    except Exception as e:
        print(type(e).__name__, e)
