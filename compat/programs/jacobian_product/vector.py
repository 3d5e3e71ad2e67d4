# backward(v) computes v^T J.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x ** 2
y.backward(torch.tensor([1.0, 0.5, 0.1]))
print(x.grad)

a = torch.eye(4, 5, requires_grad=True)
out = (a + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(a.grad)
out.backward(torch.arange(20.0).reshape(5, 4))
print(a.grad)

i = 0
z = torch.tensor([0.5, -1.5, 0.25], requires_grad=True)
w = z * 2
while w.data.norm() < 1000:
    w = w * 2
    i += 1
print(w, i)
w.backward(torch.tensor([0.1, 1.0, 0.0001]))
print(z.grad)
