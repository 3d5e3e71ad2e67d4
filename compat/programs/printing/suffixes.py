# grad_fn=, requires_grad=, dtype=, size=, device=, Parameter.
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
print(x, x * 2, x.sum(), (x * 2).detach(), x.data, x[0], x.view(2, 1), (x > 1), x.double())
print(torch.zeros(2, dtype=torch.float64, requires_grad=True), torch.zeros(0, requires_grad=True), torch.zeros(0, 2, dtype=torch.float64))
print(torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1), requires_grad=False))
y = x * 2
y[0] = 1
print(y, x.unbind()[0], x.split(1)[0], x.clone(), x.exp().log(), x.mean(), x @ x, torch.stack([x, x]), torch.cat([x, x]))
print(x.grad_fn, y.sum().grad_fn, type(y.sum().grad_fn).__name__, (x + 1).grad_fn.next_functions)
print(torch.empty(2, 3, device="meta"), torch.zeros(1, device="cpu").device, torch.device("cpu"), repr(torch.device("cuda:1")), torch.device("cuda", 0).index)
z = torch.arange(2000.0, requires_grad=True)
print(z, z * 2)
print(torch.ones(20, 20, requires_grad=True).mul(3)[:2])
