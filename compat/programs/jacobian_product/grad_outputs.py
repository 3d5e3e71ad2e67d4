# autograd.grad with grad_outputs, several outputs and inputs, allow_unused, materialize_grads.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = x * y
print(torch.autograd.grad(z, [x, y], grad_outputs=torch.tensor([1.0, 10.0]), retain_graph=True))
w = x.sum()
print(torch.autograd.grad([z, w], [x, y], grad_outputs=[torch.ones(2), torch.tensor(2.0)]))
u = torch.ones(3, requires_grad=True)
print(torch.autograd.grad(x.sum(), [x, u], allow_unused=True))
print(torch.autograd.grad(x.sum(), [x, u], materialize_grads=True))
print(torch.autograd.grad((x * 2).sum(), (x,)))
eye = torch.eye(2)
v = x ** 3
print(torch.autograd.grad(v, x, grad_outputs=(eye,), is_grads_batched=True))
