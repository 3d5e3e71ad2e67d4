# no_grad as context, decorator, function call; nested with enable_grad.
import torch

x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    y = x * 2
    print(y.requires_grad, torch.is_grad_enabled())
    with torch.enable_grad():
        z = x * 2
        print(z.requires_grad, z.grad_fn is not None)
    print((x * 2).requires_grad)
print(torch.is_grad_enabled())


@torch.no_grad()
def double(t):
    return t * 2


@torch.no_grad
def triple(t):
    return t * 3


@torch.enable_grad()
def quadruple(t):
    return t * 4


print(double(x).requires_grad, triple(x).requires_grad, (x * 2).requires_grad)
with torch.no_grad():
    print(quadruple(x).requires_grad)
    x.add_(1)
    x[0] = 9
    new = torch.ones(2, requires_grad=True)
    print(new.requires_grad)
print(x, x.is_leaf)

try:
    with torch.no_grad():
        raise ValueError("inside")
except ValueError as e:
    print(e, torch.is_grad_enabled())
