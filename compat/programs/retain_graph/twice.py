# A graph kept by retain_graph serves again; without it the second backward fails.
import torch

x = torch.eye(3, requires_grad=True)
y = (x + 1).pow(2)
y.backward(torch.ones_like(y), retain_graph=True)
print(x.grad)
y.backward(torch.ones_like(y), retain_graph=True)
print(x.grad)
x.grad.zero_()
y.backward(torch.ones_like(y))
print(x.grad)
try:
    y.backward(torch.ones_like(y))
except RuntimeError as e:
    print("RuntimeError", e)
print(x.grad)
