# detach shares the storage and leaves the graph.
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
d = y.detach()
print(d, d.requires_grad, d.grad_fn, d.is_leaf, d.data_ptr() == y.data_ptr())
z = (y * d).sum()
z.backward()
print(x.grad)

e = torch.tensor([1.0, 2.0], requires_grad=True)
f = e * 1
g = f.detach_()
print(g is f, f.requires_grad, f.is_leaf)

leaf = torch.ones(2, requires_grad=True)
leaf.detach()[0] = 7.0
print(leaf)
