# Gradients of broadcast operands are summed back to the operand's own shape.
import torch

a = torch.arange(6.0).reshape(2, 3).requires_grad_()
b = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([[10.0], [20.0]], requires_grad=True)
s = torch.tensor(0.5, requires_grad=True)
((a * b + c) * s).sum().backward()
for t in (a, b, c, s):
    print(t.grad, t.grad.shape)

e = torch.ones(1, 3, 1, requires_grad=True)
(e.expand(2, 3, 4) * 2).sum().backward()
print(e.grad)

m = torch.ones(2, 1, requires_grad=True)
n = torch.ones(0, 2, 3)
(m * n).sum().backward()
print(m.grad)
