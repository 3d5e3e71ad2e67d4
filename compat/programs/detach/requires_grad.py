# requires_grad_ on leaves and non-leaves, and on integers.
import torch

x = torch.zeros(2)
print(x.requires_grad, x.requires_grad_() is x, x.requires_grad)
x.requires_grad = False
print(x.requires_grad, x)
y = torch.ones(2, requires_grad=True) * 2
for f in (lambda: y.requires_grad_(False), lambda: torch.arange(3).requires_grad_(),
          lambda: torch.tensor([1, 2], requires_grad=True), lambda: setattr(y, "requires_grad", False),
          lambda: torch.tensor([True]).requires_grad_(True)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
print(torch.arange(3).requires_grad_(False))
print(torch.tensor([1j], requires_grad=True))
