# Gradients of gradients.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
print(g, g.requires_grad)
(h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
print(h)
h.sum().backward()
print(x.grad)
x.grad = None
y = (x.sin() * x.exp()).sum()
y.backward(create_graph=True)
print(x.grad)
(x.grad ** 2).sum().backward()
print(x.grad.detach())
x.grad = None
w = (torch.eye(3) * 0.25).requires_grad_()
out = torch.tanh(x @ w).sum()
gx, gw = torch.autograd.grad(out, (x, w), create_graph=True)
(gx.pow(2).sum() + gw.pow(2).sum()).backward()
print(x.grad, w.grad)
a = torch.tensor(2.0, requires_grad=True)
value, order = a ** 4, 0
while value.requires_grad and order < 5:
    (value,) = torch.autograd.grad(value, a, create_graph=True)
    order += 1
    print(order, value)
