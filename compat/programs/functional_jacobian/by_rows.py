# A Jacobian by hand, row by row, with retain_graph; and a Hessian by create_graph.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[1] * x[2], x.prod()])
rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)]
print(torch.stack(rows))

z = (x ** 3).sum()
(g,) = torch.autograd.grad(z, x, create_graph=True)
print(torch.stack([torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(3)]))
