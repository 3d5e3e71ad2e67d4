# backward(inputs=...) fills only those; autograd.backward with several roots.
import torch

x = torch.tensor(3.0, requires_grad=True)
y = torch.tensor(4.0, requires_grad=True)
h = x * y
h.backward(inputs=[x], retain_graph=True)
print(x.grad, y.grad)
h.backward(inputs=y)
print(x.grad, y.grad)

a = torch.ones(2, requires_grad=True)
p, q = a * 2, a.sum() * 3
torch.autograd.backward([p, q], [torch.tensor([1.0, 5.0]), None])
print(a.grad)

inner = a * 4
out = inner * 2
out.sum().backward(inputs=[inner])
print(inner.grad, a.grad)
