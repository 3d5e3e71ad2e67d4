# Gradients of indexing and assignment; repeated indices add up.
import torch

x = torch.arange(6.0).reshape(2, 3).requires_grad_()
for name, f in {
    "int": lambda: x[1] * 2, "list": lambda: x[[0, 0, 1]] * torch.tensor([[1.0], [2.0], [3.0]]), "mask": lambda: x[x > 2] ** 2,
    "pairs": lambda: x[[0, 1, 0], [2, 2, 2]], "mixed": lambda: x[:, [2, 2]], "none": lambda: x[None, :, ::2], "where": lambda: torch.where(x > 2, x, -x),
    "gather": lambda: x.gather(1, torch.tensor([[0, 0], [2, 1]])), "index_select": lambda: x.index_select(1, torch.tensor([1, 1])),
    "take": lambda: x.take(torch.tensor([0, 5, 5])), "masked_select": lambda: x.masked_select(x < 2) * 3, "take_along": lambda: x.take_along_dim(torch.tensor([[2], [0]]), 1),
}.items():
    x.grad = None
    y = f()
    y.sum().backward()
    print(name, y.grad_fn.name(), x.grad)
x.grad = None
y = x * 1
v = torch.tensor([10.0, 20.0], requires_grad=True)
y[:, 1] = v
y[0, [0, 2]] = v * 2
y[y > 30] = 0
(y * torch.arange(6.0).reshape(2, 3)).sum().backward()
print(x.grad, v.grad, y.grad_fn.name())
