# A .grad set by hand is added to; wrong ones are refused.
import torch

x = torch.ones(2, requires_grad=True)
g = torch.tensor([10.0, 20.0])
x.grad = g
(x * 2).sum().backward()
print(x.grad, x.grad is g, g)


def attempt(value):
    try:
        x.grad = value
    except Exception as e:
        print(type(e).__name__, e)


attempt(torch.ones(3))
attempt(torch.ones(2, dtype=torch.float64))
attempt(1.0)
x.grad = None
print(x.grad)
